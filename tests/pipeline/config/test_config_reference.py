"""The reference and the schema are made from the code, and are current."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock.config.keys import Key, all_keys, checked, json_schema
from penstock.config.profiles import PROFILES
from penstock.config.reference import reference
from penstock.config.toml import as_toml

ROOT = Path(__file__).resolve().parents[3]


def test_the_configuration_reference_is_current() -> None:
    written = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert written == reference(), "run scripts/make_configuration_reference"


def test_the_script_writes_it(tmp_path: Path) -> None:
    target = tmp_path / "configuration.md"
    script = ROOT / "scripts" / "make_configuration_reference"
    assert os.access(script, os.X_OK)
    subprocess.run([sys.executable, str(script), str(target)], check=True)
    assert target.read_text("utf-8") == reference()


@pytest.mark.parametrize("key", all_keys().values(), ids=lambda key: key.name)
def test_every_key_has_a_meaning_and_numbers_have_a_unit_and_say_what_0_means(key: Key) -> None:
    assert key.meaning.endswith("."), key.name
    if key.kind in (int, float):
        assert key.unit, f"{key.name} does not end in its unit"
        assert "; 0 " in key.meaning, f"{key.name} does not say what 0 means"


def test_the_sample_of_the_reference_is_right() -> None:
    sample = reference().split("```toml\n")[1].split("```")[0]
    values = tomllib.loads(sample)
    profiles = values.pop("profiles")
    assert values.pop("profile") in PROFILES
    assert checked("sample", values)["markup"] == "qwen"
    assert checked("sample", profiles["gateway"]) == {"between_chunks_timeout_s": 30.0}


def test_the_schema_has_every_key_with_its_meaning_and_default() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert set(schema["properties"]) == {*all_keys(), "profile", "profiles"}
    assert schema["additionalProperties"] is False
    assert schema["properties"]["window_s"] == {
        "default": 0.05,
        "description": all_keys()["window_s"].meaning,
        "minimum": 0,
        "title": "Window S",
        "type": "number",
    }
    assert schema["properties"]["tool_engine"]["enum"] == ["native", "tags", "structured"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_written_as_toml_is_read_as_it_was(profile: str) -> None:
    values = PROFILES[profile].values
    text = "\n".join(f"{key} = {as_toml(value)}" for key, value in values.items())
    assert tomllib.loads(text) == dict(values)
