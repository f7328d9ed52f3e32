/**
 * TLS connections to servers. Whether a server is trusted is decided only here, as Go's TLS decides it: its certificate has to lead to one
 * of a bundle, any of which is an anchor, even one that is no authority. OpenSSL does not decide: it takes a certificate that has the
 * subject of its authority for self-signed.
 */
import { readFileSync } from 'node:fs'
import { Agent, type AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import * as tls from 'node:tls'
import { type CertificatePool, poolOfPem } from '../lib/x509/pool.ts'
import type { Dial } from './egress.ts'
import { serverProblem } from './tls-peer.ts'

export type Trust = {
  readonly host: string
  /** Certificates in PEM; empty for those of the system. */
  readonly ca: string
  /** The name that the certificate has to be valid for, where it is not the host. */
  readonly servername: string
  /** The client certificate, in PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined
  /** Whether the server's certificate is not verified. */
  readonly skipsVerification: boolean
}

/** An agent that verifies each connection before a byte is sent over it. */
export function trustingAgent(trust: Trust, options: AgentOptions): Agent {
  // A resumed session would not include the server's certificates.
  const agent = new Agent({ ...options, ...sentNames(trust), maxCachedSessions: 0 })
  // A server that speaks HTTP/2 alone then ends the handshake, instead of answering in a protocol that is not spoken here.
  agent.createConnection = options => connectTrusting({ ALPNProtocols: ['http/1.1'], ...(options as tls.ConnectionOptions) }, trust)
  return agent
}

/**
 * Connects. An untrusted server is an error of the socket, and receives none of the written data: Node sends that after the handshake,
 * after this verification.
 */
export function connectTrusting({ dial, ...options }: tls.ConnectionOptions & { dial?: Dial | undefined }, trust: Trust): tls.TLSSocket {
  const { client, skipsVerification } = trust
  const { host = '', port = 443, lookup } = options
  const socket = tls.connect({
    ...options,
    ...(dial && { socket: dial({ host, port, lookup }) }),
    ...sentNames(trust),
    ...client,
    // Without a list of its own, a context loads all authorities that Node knows.
    ca: [],
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  })
  if (!skipsVerification)
    socket.once('secureConnect', () => {
      const roots = trust.ca ? bundle(trust.ca) : systemRoots()
      const problem = serverProblem(socket, { roots, now: Date.now(), purpose: 'serverAuth', host: trust.servername || trust.host })
      if (problem !== undefined) socket.destroy(new UntrustedServerError(problem))
    })
  return socket
}

/** The server's certificate does not lead to a trusted one, or is not valid for the host. */
export class UntrustedServerError extends Error {
  readonly code = 'UNTRUSTED_SERVER'
}

/** TLS server names cannot be addresses. */
const sentNames = ({ host, servername }: Trust) => (servername ? { servername } : isIP(host) !== 0 ? { servername: '' } : {})

const bundles = new Map<string, CertificatePool>()
const MAX_BUNDLES = 100

/** The pool of a bundle, which is parsed once for all connections. */
function bundle(ca: string): CertificatePool {
  let pool = bundles.get(ca)
  if (!pool) {
    const [oldest] = bundles.keys()
    if (bundles.size >= MAX_BUNDLES) bundles.delete(oldest!)
    bundles.set(ca, (pool = poolOfPem(ca)))
  }
  return pool
}

let roots: CertificatePool | undefined

/** The authorities that Node trusts, with those of NODE_EXTRA_CA_CERTS. They are loaded when first needed. */
function systemRoots(): CertificatePool {
  roots ??= poolOfPem(systemCertificates().join('\n'))
  return roots
}

function systemCertificates(): readonly string[] {
  // Newer versions of Node list the trusted authorities, also with the flag to trust those of the system.
  const { getCACertificates } = tls as typeof tls & { readonly getCACertificates?: (type: 'default') => string[] }
  if (getCACertificates) return getCACertificates('default')
  const extra = process.env['NODE_EXTRA_CA_CERTS']
  if (!extra) return tls.rootCertificates
  try {
    return [...tls.rootCertificates, readFileSync(extra, 'utf8')]
  } catch {
    // Node has already warned about a file that cannot be read.
    return tls.rootCertificates
  }
}
