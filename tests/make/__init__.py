"""What tests build: files, figures, worlds, and the programs they are opened with."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
