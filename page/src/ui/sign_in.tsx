// The token is sent once and is kept nowhere; the answer sets a cookie that no script can read.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call, hadSession, needsSignIn } from '../core/client'
import { Problem } from './basics'

export function SignIn() {
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isRunning, setRunning] = useState(false)
  useEffect(() => {
    document.title = 'Sign in – millrace'
    field.current?.focus()
  }, [])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const input = field.current
    if (!input?.value) return
    setRunning(true)
    setError(null)
    try {
      await call('POST', '/v1/session', { headers: { Authorization: `Bearer ${input.value.trim()}` } })
      input.value = ''
      // The page comes in place of the form, and reads what it shows.
      needsSignIn.value = false
    } catch (failure) {
      setError(failure as ApiError)
    }
    setRunning(false)
  }
  return (
    <main id="main" class="sign-in">
      <form class="panel form" onSubmit={(event) => void submit(event)}>
        <h1 tabIndex={-1}>Sign in to millrace</h1>
        <p>The server was started with a token (<code class="nowrap">--token-file</code>). This browser keeps it nowhere.</p>
        {hadSession.value && <p class="notes">The session has ended: its time was over, or the server was started again, or got another token. After the sign-in the same page comes; definitions that were typed are kept.</p>}
        <label>Token<input ref={field} type="password" autocomplete="current-password" required /></label>
        {error && <Problem error={error} />}
        <div class="buttons"><button type="submit" class="primary" disabled={isRunning}>{isRunning ? 'Signing in…' : 'Sign in'}</button></div>
      </form>
    </main>
  )
}

/** Ends the session; the sign-in form comes. */
export async function signOut(): Promise<void> {
  await call('DELETE', '/v1/session')
  hadSession.value = false
  needsSignIn.value = true
}
