"""`python -m foreword` is the same program as `foreword`."""

from foreword.cli.main import main

main()
