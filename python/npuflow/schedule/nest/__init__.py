"""The bufferized program as a tree of loops and statements: read from IR, and made regular before it is projected."""
