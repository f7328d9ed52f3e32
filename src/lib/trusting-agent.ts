/** Connections to servers that are trusted by a bundle of certificates, of which any is an anchor, also one that is no authority. */
import { Agent, type AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { isTrusted, type Trust } from './tls-trust.ts'

export type AgentTrust = {
  readonly host: string
  /** Certificates in PEM; those of the system where empty. */
  readonly ca: string
  /** The name that the certificate has to be for, where it is not the host. */
  readonly servername: string
  /** As whom connections are made; PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined
  /** Whether the certificate of the server is not looked at. */
  readonly skipsVerification: boolean
}

export function trustingAgent({ host, ca, servername, client, skipsVerification }: AgentTrust, options: AgentOptions): Agent {
  const agent = new Agent({
    ...options,
    ...client,
    ...(skipsVerification && { rejectUnauthorized: false }),
    ...(ca && { ca, allowPartialTrustChain: true }),
    ...(servername ? { servername } : isIP(host) !== 0 && { servername: '' }),
  })
  if (ca && !skipsVerification && !HAS_PARTIAL_TRUST) checkTrustHere(agent)
  return agent
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** Whether Node itself can take any certificate of a bundle for an anchor. */
const HAS_PARTIAL_TRUST = major > 22 || (major === 22 && minor >= 9) || (major === 20 && minor >= 18)

/** Has an agent hand out only connections whose certificates lead to its bundle. */
function checkTrustHere(agent: Agent): void {
  const opening = agent as unknown as {
    createConnection: (options: ConnectionOptions & Trust, done: (error: Error | null, socket?: TLSSocket) => void) => void
  }
  opening.createConnection = (options, done) => {
    const socket = connect({ ...options, rejectUnauthorized: false })
    socket.once('error', done)
    socket.once('secureConnect', () => {
      socket.off('error', done)
      if (socket.authorized || isTrusted(socket, options)) return done(null, socket)
      socket.destroy()
      done(Object.assign(new Error('the certificate is not trusted'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }))
    })
  }
}
