// The page begins here: the shell, and the page that the address names.
import { render } from 'preact'
import { Shell } from './ui/shell'

const root = document.getElementById('page')
if (root) render(<Shell />, root)
