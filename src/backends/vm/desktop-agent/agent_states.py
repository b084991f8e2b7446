"""The states of AT-SPI in the order of their bits."""

NAMES = (
    "invalid active armed busy checked collapsed defunct editable enabled expandable expanded focusable focused has-tooltip "
    "horizontal iconified modal multi-line multiselectable opaque pressed resizable selectable selected sensitive showing "
    "single-line stale transient vertical visible manages-descendants indeterminate required truncated animated "
    "invalid-entry supports-autocompletion selectable-text is-default visited checkable has-popup read-only"
).split()
EDITABLE = NAMES.index("editable")
SHOWING = NAMES.index("showing")
DEFUNCT = NAMES.index("defunct")


def to_bits(words):
    return sum(word << (32 * index) for index, word in enumerate(words[:2]))


def to_names(bits):
    return [name for index, name in enumerate(NAMES) if bits >> index & 1]
