"""Objects of rigid parts and joints."""
