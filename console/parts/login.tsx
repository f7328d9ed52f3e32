/** The way in: a one-time link, a token, or a certificate of the browser. */
import { useState } from 'preact/hooks'
import { messageOf } from '../core/api.ts'
import { login } from '../core/session.ts'
import { Notice } from './basics.tsx'
import { Icon, Logo } from './icons.tsx'

export function Login({ problem }: { problem: string }) {
  const [token, setToken] = useState('')
  const [error, setError] = useState(problem)
  const [isBusy, setBusy] = useState(false)
  const enter = async (credentials: { token: string } | Record<string, never>) => {
    setBusy(true)
    setError('')
    try {
      await login(credentials)
    } catch (failure) {
      setError(messageOf(failure))
    }
    setToken('')
    setBusy(false)
  }
  return (
    <main class="login">
      <div class="login-card stack stack-wide">
        <div class="stack">
          <span class="brand">
            <Logo /> Keelson
          </span>
          <div>
            <h1>Log in</h1>
            <p class="muted">
              Run <code>keelson console</code>: it opens this page with a one-time link. Or paste a token, or use a certificate of this
              browser.
            </p>
          </div>
        </div>
        {error !== '' && <Notice tone="bad" title={error} />}
        <form
          class="stack"
          onSubmit={event => {
            event.preventDefault()
            if (token.trim() !== '') void enter({ token: token.trim() })
          }}
        >
          <label class="field">
            <span>Token</span>
            <input
              class="input mono"
              type="password"
              name="token"
              autocomplete="off"
              placeholder="Paste a token of a service account or user"
              value={token}
              onInput={event => setToken(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="button button-primary" disabled={isBusy || token.trim() === ''}>
            Log in
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={() => void enter({})}>
            <Icon name="shield" /> Use a client certificate
          </button>
        </form>
      </div>
    </main>
  )
}
