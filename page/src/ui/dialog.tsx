// Dialogs. An action names what it will do and to what, and shows its commands; the focus returns to
// where it was. What it did is spoken, politely.
import type { ComponentChildren } from 'preact'
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../core/client'
import type { Command } from '../core/commands'
import { CommandText, CopyButton, Problem } from './basics'

/** What an action did, and the pages that show what came of it. */
export interface Said {
  text: string
  links?: Array<{ href: string; label: string }>
}

/** What the last action did; shown and spoken. An empty text: nothing. */
export const announcement = signal<Said>({ text: '' })

export function announce(said: string | Said): void {
  announcement.value = typeof said === 'string' ? { text: said } : said
}

export function Dialog({ title, children, close, isWide = false }: { title: string; children: ComponentChildren; close: () => void; isWide?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => {
      if (before?.isConnected) before.focus()
      else document.querySelector<HTMLElement>('h1')?.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : ''} aria-labelledby="dialog-title" onCancel={(event) => { event.preventDefault(); close() }}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}

/** The commands that do the same, to be copied. */
export function Commands({ command }: { command: Command }) {
  return (
    <div class="commands">
      {command.first && <p>{command.first}</p>}
      {command.line && <div><pre tabIndex={0} aria-label="Command line"><CommandText text={command.line} /></pre><CopyButton text={command.line} label="Copy the command" /></div>}
      <div><pre tabIndex={0} aria-label="HTTP call"><CommandText text={command.http} /></pre><CopyButton text={command.http} label="Copy the HTTP call" /></div>
    </div>
  )
}

/** "Copy as command": a part that opens. */
export function CopyAsCommand({ command }: { command: Command }) {
  return <details class="as-command"><summary>Copy as command</summary><Commands command={command} /></details>
}

/**
 * Asks before an action, runs it, and says what it did. `run` returns that; an error of the API
 * is shown in the dialog as it is. `mustType` is a number or a name that is to be typed first;
 * `instead` is what is proposed in place of the action.
 */
export function ActionDialog({ title, children, label, isDanger = false, isReady = true, mustType, instead, command, run, close }: {
  title: string
  children?: ComponentChildren
  label: string
  isDanger?: boolean
  isReady?: boolean
  mustType?: number | string
  instead?: { label: string; act: () => void }
  command: Command | null
  run: () => Promise<string | Said>
  close: () => void
}) {
  const [error, setError] = useState<ApiError | Error | null>(null)
  const [isRunning, setRunning] = useState(false)
  const [typed, setTyped] = useState('')
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setRunning(true)
    setError(null)
    announce('')
    try {
      announce(await run())
      close()
    } catch (failure) {
      setError(failure as Error)
    }
    setRunning(false)
  }
  // It may name thousands of instances, and the progress draws the dialog again for each.
  const commands = useMemo(() => command && <CopyAsCommand command={command} />, [command])
  const isTyped = mustType === undefined || typed.replace(/\s/g, '') === String(mustType)
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={(event) => void submit(event)}>
        {children}
        {mustType !== undefined && (
          <label>Type the {typeof mustType === 'number' ? 'number' : 'name'} {mustType} to confirm<input value={typed} inputMode={typeof mustType === 'number' ? 'numeric' : 'text'} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} /></label>
        )}
        {error && <Problem error={error} />}
        {commands}
        <div class="buttons">
          <button type="button" onClick={close}>{isDanger ? 'Keep as it is' : 'Close'}</button>
          <button type="submit" class={isDanger ? 'danger' : instead ? '' : 'primary'} disabled={isRunning || !isTyped || !isReady}>{isRunning ? 'Working…' : label}</button>
          {instead && <button type="button" class="primary" onClick={instead.act}>{instead.label}</button>}
        </div>
      </form>
    </Dialog>
  )
}
