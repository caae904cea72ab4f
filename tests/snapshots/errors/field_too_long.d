pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp:::x { }
