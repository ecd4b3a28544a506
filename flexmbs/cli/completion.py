"""Print what a shell needs to complete commands, options and files: bash, zsh or fish.

bash:  flexmbs completion bash > ~/.local/share/bash-completion/completions/flexmbs
zsh:   flexmbs completion zsh > ~/.zfunc/_flexmbs        with ~/.zfunc in fpath
fish:  flexmbs completion fish > ~/.config/fish/completions/flexmbs.fish
"""

from __future__ import annotations

import argparse

from flexmbs.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(args: argparse.Namespace) -> Output:
    from flexmbs.cli.main import build_parser
    from flexmbs.cli.shells import SHELLS, commands_of

    script = SHELLS[args.shell](commands_of(build_parser()))
    return Output(script, {"script": script})
