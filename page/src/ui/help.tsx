// The keys, and where to read more: the sources of help.
import { hasKeys } from '../core/settings'
import { serverVersion } from '../core/live'
import { CommandText } from './basics'
import { Dialog } from './dialog'
import { kGoKeys } from './keys'

const kKeys: Array<[string, string]> = [
  ['/ or Ctrl-K', 'Go to any id, sequence, workflow or key'],
  ...Object.entries(kGoKeys).map(([key, [, name]]): [string, string] => [`g ${key}`, name]),
  ['j k', 'Next row, previous row; Enter opens it'],
  ['x', 'Select the row'],
  ['.', 'Actions'],
  ['[ ]', 'Previous record, next record of an instance'],
  ['l', 'Follow changes, or not'],
  ['t', 'Theme'],
  ['Esc', 'Close'],
]

export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys and help" close={close} isWide>
      <div class="columns">
        <section>
          <h3>Keys</h3>
          <label><input type="checkbox" checked={hasKeys.value} onChange={(event) => { hasKeys.value = event.currentTarget.checked }} /> Single keys are commands</label>
          <dl class="facts">{kKeys.map(([key, text]) => <><dt><kbd>{key}</kbd></dt><dd>{text}</dd></>)}</dl>
        </section>
        <section>
          <h3>Where to read more</h3>
          <ul>
            <li><code><CommandText text="millrace COMMAND --help" /></code> describes each command, with an example.</li>
            <li><code>millrace explain KEY</code> explains a key of the workflow language.</li>
            <li><code>millrace lint FILE</code> finds mistakes in a definition; <code>millrace test DIR</code> runs its scenarios.</li>
            <li><a href="v1/openapi.json" target="_blank" rel="noreferrer">/v1/openapi.json</a> describes each call; this page uses no other.</li>
            <li><a href="v1/schema" target="_blank" rel="noreferrer">/v1/schema</a> is the schema of definitions, for editors.</li>
            <li><a href="readyz" target="_blank" rel="noreferrer">/readyz</a> says what the server waits for, <a href="metrics" target="_blank" rel="noreferrer">/metrics</a> has its numbers.</li>
            <li><a href="assets/licences.txt" target="_blank" rel="noreferrer">Licences</a> of what is in this page.</li>
            <li>The documents beside the program: README.md, docs/language.md, docs/operating.md, docs/errors.md, docs/http.md.</li>
          </ul>
          <p class="quiet">millrace {serverVersion.value}</p>
        </section>
      </div>
      <div class="buttons"><button type="button" class="primary" onClick={close}>Close</button></div>
    </Dialog>
  )
}
