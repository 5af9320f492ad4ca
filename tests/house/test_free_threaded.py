"""Which interpreter `make test-free-threaded` takes."""

from tests import free_threaded


def script(folder, name, status):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


def test_what_was_asked_for_goes_first_if_it_has_no_lock(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    free, locked = script(tmp_path / "a", "python", 0), script(tmp_path / "b", "python", 1)
    assert free_threaded.found(free, tmp_path) == free
    assert free_threaded.found(locked, tmp_path) is None
    assert free_threaded.found(str(tmp_path / "nothing"), tmp_path) is None


def test_interpreters_of_pyenv_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path / ".pyenv/versions/3.13.0t/bin", "python3.13t", 1)
    kept = script(tmp_path / ".pyenv/versions/3.14.0t/bin", "python3.14t", 0)
    assert free_threaded.found(None, tmp_path) == kept


def test_where_there_is_none_nothing_fails_and_it_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(free_threaded, "found", lambda given: None)
    assert free_threaded.main() == 0
    assert "no Python without a global lock" in capsys.readouterr().out
