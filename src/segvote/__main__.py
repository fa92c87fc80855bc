"""`python -m segvote` is `segvote`."""

from segvote.cli import main

if __name__ == "__main__":
    main()
