"""The pictures of docs/terminal.md can be made, and show what the demo shows."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"


def words_in(picture: Path) -> list[str]:
    """What is to be read in a picture; how it is drawn may change with the libraries it is made with."""
    return [
        "".join(text.itertext()) for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_pictures_are_what_the_demo_shows(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make_pictures", tmp_path], check=True)
    made = {picture.name: words_in(picture) for picture in tmp_path.iterdir()}
    assert made == {picture.name: words_in(picture) for picture in PICTURES.iterdir()}, "run scripts/make_pictures"
    shown = re.findall(r"\(pictures/([\w.-]+)\)", (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8"))
    assert set(shown) == set(made)


def test_the_film_runs_through_all_its_frames_and_begins_again() -> None:
    film = (PICTURES / "terminal.svg").read_text(encoding="utf-8")
    assert len(re.findall(r"%\{transform:translateY", film)) > 80
    assert "step-end infinite" in film
