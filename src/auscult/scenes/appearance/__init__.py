"""What things and backgrounds look like, and how one picture is put together from them: no names, places or sounds."""
