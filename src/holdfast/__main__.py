"""`python -m holdfast` is `holdfast`."""

from holdfast.doors.start import main

main()
