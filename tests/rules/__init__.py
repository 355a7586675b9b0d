"""The rules of the read and produce path: what each says, its tests, and breaks they must notice."""
