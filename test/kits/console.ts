/** The console's page without a browser: its headers and its cookie, for tests of sessions. */
import { type Answer, anonymous, ask, type Sent, type Target } from '../kit.ts'

export class ConsolePage {
  readonly server: Target
  /** As a browser keeps it: name and value. */
  cookie = ''

  constructor(server: Target) {
    this.server = server
  }

  /** Without a client certificate, unless `sent` has one. */
  async send(path: string, { headers, ...sent }: Sent = {}): Promise<Answer> {
    const answer = await ask(this.server, path, { ...anonymous, ...sent, headers: { ...this.headers(), ...headers } })
    const [set] = [answer.headers['set-cookie'] ?? []].flat()
    if (set !== undefined) this.cookie = set.split(';')[0]!
    return answer
  }

  headers(): Record<string, string> {
    const cookie: Record<string, string> = this.cookie === '' ? {} : { cookie: this.cookie }
    return { 'keelson-console': '1', origin: this.server.url, 'sec-fetch-site': 'same-origin', ...cookie }
  }

  logIn(login: object, sent: Sent = {}): Promise<Answer> {
    return this.send('/console/session', { method: 'POST', body: login, ...sent })
  }

  /** A request of the API through the session. */
  api(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send(`/console/api${path}`, sent)
  }
}

/** A code for the user of these credentials, by default the admin. */
export async function codeOf(server: Target, sent: Sent = {}): Promise<string> {
  const { status, json, text } = await ask(server, '/console/codes', { method: 'POST', ...sent })
  if (status !== 201) throw new Error(`no code: ${status} ${text}`)
  return json.code
}
