"""Drawing with PyVista and without Qt: used by the viewport and by exports alike."""
