// The only file that uses CodeMirror; it is a chunk of its own. The editor stands in a shadow root, where
// CodeMirror uses constructed style sheets, which the content security policy allows.
import { autocompletion, completionKeymap, type Completion, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export interface Mark {
  line: number
  column: number
  message: string
  severity: 'error' | 'warning' | 'note'
}

export interface Editor {
  /** Marks findings at their line and column, both from 1. */
  mark: (findings: Mark[]) => void
  go: (line: number, column: number) => void
  destroy: () => void
}

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--panel)', fontSize: '13px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--quiet)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunk) 60%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--link)' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--text)', border: '1px solid var(--edge)', maxWidth: '30rem' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning, .cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.comment], color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--accent)' },
])

/** The keys of the language with their sentences, from the schema of definitions. */
function completionsOf(schema: unknown): Completion[] {
  const found = new Map<string, string>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const properties = (node as { properties?: Record<string, { description?: string }> }).properties
    for (const [name, member] of Object.entries(properties ?? {})) {
      const text = member?.description ?? ''
      if (!found.has(name) || (found.get(name) === '' && text !== '')) found.set(name, text)
    }
    Object.values(node).forEach(visit)
  }
  visit(schema)
  return [...found].sort(([a], [b]) => a.localeCompare(b)).map(([label, info]) => ({ label, type: 'property', apply: `${label}: `, info: info || undefined }))
}

/** Makes an editor in an element; `changed` gets each new text. */
export function makeEditor(host: HTMLElement, text: string, changed: (text: string) => void, schema: Promise<unknown>): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  let keys: Completion[] = []
  void schema.then((value) => { keys = completionsOf(value) })
  const complete = (context: CompletionContext) => {
    const word = context.matchBefore(/^[\s-]*[\w]*$|[\w]+$/)
    const key = context.matchBefore(/[\w]*/)
    if (!word || !key || (key.from === key.to && !context.explicit)) return null
    const before = context.state.doc.lineAt(context.pos).text.slice(0, key.from - context.state.doc.lineAt(context.pos).from)
    return /^[\s-]*$|[{,]\s*$/.test(before) ? { from: key.from, options: keys, validFor: /^\w*$/ } : null
  }
  const view = new EditorView({
    parent: root as unknown as Element,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), highlightActiveLine(), lintGutter(), yaml(), indentUnit.of('  '), look, syntaxHighlighting(colours),
        autocompletion({ override: [complete] }), keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': 'Definition, YAML. Tab leaves the editor.', tabindex: '0' }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(update.state.doc.toString()) }),
      ],
    }),
  })
  const place = (line: number, column: number): number => {
    const at = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)))
    return Math.min(at.to, at.from + Math.max(0, column - 1))
  }
  return {
    mark: (findings) => {
      const diagnostics = findings.map((finding): Diagnostic => {
        const from = place(finding.line, finding.column)
        const rest = view.state.doc.sliceString(from, view.state.doc.lineAt(from).to)
        const length = /^[\w.-]+/.exec(rest)?.[0].length ?? Math.max(1, rest.length)
        return { from, to: Math.min(view.state.doc.length, from + length), severity: finding.severity === 'note' ? 'info' : finding.severity, message: finding.message }
      })
      view.dispatch(setDiagnostics(view.state, diagnostics))
    },
    go: (line, column) => {
      view.dispatch({ selection: { anchor: place(line, column) }, scrollIntoView: true })
      view.focus()
    },
    destroy: () => view.destroy(),
  }
}
