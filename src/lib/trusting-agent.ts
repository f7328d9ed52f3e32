/** Connections to servers that are trusted by a bundle of certificates, of which any is an anchor, also one that is no authority. */
import { X509Certificate } from 'node:crypto'
import { Agent, type AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls'

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

type Trust = { readonly ca?: string | undefined; readonly servername?: string | undefined; readonly host?: string | undefined }

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Whether the server is trusted: the name must be right, and the certificates that were shown must lead to one of the bundle, each valid and signed by the next. */
export function isTrusted(socket: TLSSocket, { ca = '', servername, host = '' }: Trust, now = Date.now()): boolean {
  if (checkServerIdentity(servername || host, socket.getPeerCertificate()) !== undefined) return false
  const anchors = (ca.match(PEM) ?? []).map(text => new X509Certificate(text))
  for (let shown = socket.getPeerX509Certificate(); shown; ) {
    const certificate: X509Certificate = shown
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) return false
    const isSignedBy = (other: X509Certificate) => certificate.checkIssued(other) && certificate.verify(other.publicKey)
    if (anchors.some(anchor => anchor.raw.equals(certificate.raw) || isSignedBy(anchor))) return true
    const issuer = certificate.issuerCertificate
    // Who signs others has to be an authority.
    if (!issuer?.ca || issuer.raw.equals(certificate.raw) || !isSignedBy(issuer)) return false
    shown = issuer
  }
  return false
}
