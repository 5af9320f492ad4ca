"""``twofold completion``: what it prints completes the programs and their options."""

import subprocess

import pytest

from twofold.command import main
from twofold.command.command_line import PROGRAMS
from twofold.command.completion import SHELLS

pytest.importorskip("shtab")


@pytest.mark.parametrize("shell", SHELLS)
def test_it_names_every_program(capsys, shell):
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in PROGRAMS)
    assert "explain" in printed  # an option of `run`


def test_bash_completes_a_program_and_an_option(capsys, tmp_path):
    main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    asks = 'source "$0"; COMP_WORDS=(twofold run --ex); COMP_CWORD=2; _shtab_twofold; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asks, str(script)], capture_output=True, text=True, check=False)
    assert "--explain" in done.stdout, done.stderr


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "cmd"])
    assert "invalid choice" in capsys.readouterr().err
