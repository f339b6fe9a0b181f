"""What a broker has the controllers do: requests of clients, handed on as they came, and wishes of its own."""
