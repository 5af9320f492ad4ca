"""Names in lists of images lead to files in the folder of the images, and nowhere else."""

import numpy as np
import pytest

import twofold as mx
from twofold.command import main
from twofold.errors import FormatError
from twofold.formats.image_lists import read_image_list


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder: an image in ``images``, and another one beside that folder."""
    pytest.importorskip("PIL")
    from PIL import Image

    (tmp_path / "images" / "inner").mkdir(parents=True)
    for name in ("images/a.png", "images/inner/b.png", "other.png"):
        Image.fromarray(np.full((8, 8, 3), 7, np.uint8)).save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(folder, name):
    (folder / "l.lst").write_text(f"0\t1\t{name}\n")
    return str(folder / "l.lst")


def iterated(path, root):
    return mx.image.ImageIter(1, (3, 8, 8), path_imglist=path, path_root=root).next().data[0].shape


def looked_up(path, root):
    return mx.gluon.data.vision.ImageListDataset(root, path)[0][0].shape


def recorded(path, root):
    assert main(["im2rec", path.removesuffix(".lst"), root]) == 0


USES = [iterated, looked_up, recorded]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "name", ["../other.png", "inner/../../other.png", "{folder}/other.png", "file://{folder}/images/a.png", "http://localhost:9/a"]
)
def test_a_name_that_leads_outside_the_folder_is_refused(folder, name, use):
    path = listed(folder, name.format(folder=folder))
    if use is recorded:
        assert main(["im2rec", path.removesuffix(".lst"), "images"]) == 2
    else:
        with pytest.raises(FormatError, match=r"line 1 of a list of images: the name (leads outside|is a URL)"):
            use(path, "images")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["a.png", "inner/b.png", "inner/../a.png", "{folder}/images/a.png"])
def test_names_inside_the_folder_are_read(folder, name, use):
    use(listed(folder, name.format(folder=folder)), "images")


@pytest.mark.parametrize("use", [iterated, looked_up])
@pytest.mark.parametrize("root", ["", "."])
@pytest.mark.parametrize("name", ["images/a.png", "{folder}/other.png", "../{folder.name}/other.png"])
def test_without_a_folder_names_are_paths(folder, name, root, use):
    use(listed(folder, name.format(folder=folder)), root)


def test_names_stay_in_a_remote_folder(folder):
    for name in ("../other.png", "/other.png", "s3://other/a.png"):
        with pytest.raises(FormatError):
            read_image_list(listed(folder, name), root="s3://bucket/images")
    assert read_image_list(listed(folder, "a/b.png"), root="s3://bucket/images")[0].name == "a/b.png"
