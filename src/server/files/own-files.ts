/** Files named in the config: tokens, certificates, keys. Errors name the file and never show its contents. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseTokenFile } from '../../authn/token-file.ts'
import { readVerificationKeys, type SigningKey, signingKey, type VerificationKey } from '../../authn/verification-keys.ts'
import type { NamedCertificate } from '../../http/listener/named-certificates.ts'
import { readNamedPair } from '../../lib/tls-settings.ts'
import type { User } from '../../schema/user.ts'
import { type Config, ConfigError } from '../config.ts'

export type OwnFiles = {
  readonly tokens: ReadonlyMap<string, User> | undefined
  /** Further authorities of client certificates; PEM. */
  readonly clientCa: string | undefined
  /** Authorities of proxies that may name users in headers; PEM. */
  readonly proxyCa: string | undefined
  /** The server's own certificate and its key; PEM. */
  readonly server: { readonly cert: string; readonly key: string } | undefined
  /** Certificates for certain names of the server; PEM. */
  readonly named: readonly NamedCertificate[]
  /** Authorities of the OpenID provider's certificate; PEM. */
  readonly oidcCa: string | undefined
  /** The client certificate for kubelets, if configured, and the authority of theirs; PEM. */
  readonly kubelet: { readonly client: { readonly cert: string; readonly key: string } | undefined; readonly ca: string | undefined }
  /** The client certificate for aggregated API servers, if configured; PEM. */
  readonly proxyClient: { readonly cert: string; readonly key: string } | undefined
  /** Authorities of other servers over the same store; PEM. Without them, no request is passed on to those. */
  readonly peerCa: string | undefined
  /** The authority of etcd and the client certificate for it; PEM. */
  readonly etcd: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** Signs tokens of service accounts. */
  readonly signingKey: SigningKey | undefined
  /** Further keys that verify service account tokens. */
  readonly tokenKeys: readonly VerificationKey[]
}

/** The signers that use a pair of files. */
export type SigningFiles = 'all' | 'kubeletServing' | 'kubeletClient' | 'kubeApiserverClient' | 'legacyUnknown'

/** The files of signing authorities, by purpose; none when the server's own authority signs. */
export function signingFiles(config: Config): ReadonlyMap<SigningFiles, { readonly cert: string; readonly key: string }> {
  const pairs: Readonly<Record<SigningFiles, readonly [cert: string | undefined, key: string | undefined]>> = {
    all: [config.clusterSigningCertFile, config.clusterSigningKeyFile],
    kubeletServing: [config.clusterSigningKubeletServingCertFile, config.clusterSigningKubeletServingKeyFile],
    kubeletClient: [config.clusterSigningKubeletClientCertFile, config.clusterSigningKubeletClientKeyFile],
    kubeApiserverClient: [config.clusterSigningKubeApiserverClientCertFile, config.clusterSigningKubeApiserverClientKeyFile],
    legacyUnknown: [config.clusterSigningLegacyUnknownCertFile, config.clusterSigningLegacyUnknownKeyFile],
  }
  const named = (Object.entries(pairs) as [SigningFiles, (typeof pairs)[SigningFiles]][]).filter(([, [cert, key]]) => cert || key)
  for (const [signers, [cert, key]] of named)
    if (!cert || !key)
      throw new ConfigError(`${flagOf(signers, cert ? 'cert' : 'key')}: cannot specify ${cert ? 'cert without key' : 'key without cert'}`)
  if (named.length > 1 && named[0]![0] === 'all')
    throw new ConfigError(
      'cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time: the first are for all signers',
    )
  return new Map(named.map(([signers, [cert, key]]) => [signers, { cert: cert!, key: key! }]))
}

const flagOf = (signers: SigningFiles, what: string) =>
  `--cluster-signing-${signers === 'all' ? '' : `${signers.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}-`}${what}-file`

/** Reads and checks every file that the config names. Throws ConfigError. */
export function readOwnFiles(config: Config): OwnFiles {
  for (const { cert, key } of signingFiles(config).values()) checkAuthority(cert, readPair(cert, key))
  const { tokenAuthFile, clientCaFile, tlsCertFile, tlsPrivateKeyFile, serviceAccountSigningKeyFile: signing } = config
  const {
    kubeletCertificateAuthority: kubeletCa,
    kubeletClientCertificate,
    kubeletClientKey,
    proxyClientCertFile,
    proxyClientKeyFile,
  } = config
  return {
    kubelet: {
      ca: kubeletCa === undefined ? undefined : readCertificates(kubeletCa).text,
      client: kubeletClientCertificate && kubeletClientKey ? readPair(kubeletClientCertificate, kubeletClientKey) : undefined,
    },
    etcd: {
      ...(config.etcdCafile !== undefined && { ca: readCertificates(config.etcdCafile).text }),
      ...(config.etcdCertfile !== undefined && config.etcdKeyfile !== undefined && readPair(config.etcdCertfile, config.etcdKeyfile)),
    },
    proxyClient: proxyClientCertFile && proxyClientKeyFile ? readPair(proxyClientCertFile, proxyClientKeyFile) : undefined,
    peerCa: config.peerCaFile === undefined ? undefined : readCertificates(config.peerCaFile).text,
    signingKey: signing === undefined ? undefined : readSigningKey(signing),
    tokenKeys: config.serviceAccountKeyFiles.flatMap(readTokenKeys),
    tokens: tokenAuthFile === undefined ? undefined : readTokens(tokenAuthFile),
    oidcCa: config.oidc.caFile === undefined ? undefined : readCertificates(config.oidc.caFile).text,
    clientCa: clientCaFile === undefined ? undefined : readCertificates(clientCaFile).text,
    proxyCa: readProxyCa(config),
    named: config.tlsSniCertKeys.map(readNamed),
    server: tlsCertFile === undefined || tlsPrivateKeyFile === undefined ? undefined : readPair(tlsCertFile, tlsPrivateKeyFile),
  }
}

function readNamed(text: string): NamedCertificate {
  const { certFile, keyFile, names } = readNamedPair(text)
  try {
    return { ...readPair(certFile, keyFile), names }
  } catch (error) {
    throw new ConfigError(`failed to load SNI cert and key: ${(error as Error).message}`)
  }
}

/** Checks that a text holds certificates. Throws ConfigError, which names the file. */
export function checkCertificates(text: string, file: string): X509Certificate {
  try {
    const [first] = (text.match(CERTIFICATE) ?? []).map(pem => new X509Certificate(pem))
    if (first !== undefined) return first
  } catch {
    throw new ConfigError(`${file} holds a certificate that cannot be read`)
  }
  throw new ConfigError(`${file} holds no certificate in PEM`)
}

function readProxyCa({ requestheaderClientCaFile: file, requestheaderAllowedNames: names, clientCaFile }: Config): string | undefined {
  if (file === undefined) return undefined
  const { text } = readCertificates(file)
  checkOverlap({ clientCa: clientCaFile === undefined ? undefined : read(clientCaFile), proxyCa: text }, names)
  return text
}

/** Clients whose authority also is that of proxies could name any user. Throws ConfigError unless proxies are known by name. */
export function checkOverlap({ clientCa, proxyCa }: Pick<OwnFiles, 'clientCa' | 'proxyCa'>, proxyNames: readonly string[]): void {
  const shared = proxyCa === undefined ? [] : clientCa?.match(CERTIFICATE)?.filter(pem => proxyCa.includes(pem))
  if (proxyNames.length === 0 && shared?.length)
    throw new ConfigError(
      '--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users',
    )
}

function readTokens(file: string): ReadonlyMap<string, User> {
  const text = read(file)
  try {
    return parseTokenFile(text, file)
  } catch (error) {
    throw new ConfigError((error as Error).message)
  }
}

function readSigningKey(file: string): SigningKey {
  const text = read(file)
  try {
    return signingKey(createPrivateKey(text))
  } catch (error) {
    throw new ConfigError(`${file} holds no private key that can sign tokens: ${reasonOf(error)}`)
  }
}

function readTokenKeys(file: string): VerificationKey[] {
  const text = read(file)
  try {
    return readVerificationKeys(text)
  } catch (error) {
    throw new ConfigError(`${file} holds no key with which tokens can be verified: ${reasonOf(error)}`)
  }
}

/** Errors of the crypto library have codes; its messages could quote its input. */
const reasonOf = (error: unknown) => ((error as { code?: string }).code === undefined ? (error as Error).message : 'it cannot be read')

/** An authority is a certificate that may sign others. */
function checkAuthority(file: string, { cert }: { cert: string }): void {
  const [, ...more] = cert.match(CERTIFICATE) ?? []
  if (more.length > 0) throw new ConfigError(`${file}: expected 1 certificate, found ${more.length + 1}`)
  if (!new X509Certificate(cert).ca) throw new ConfigError(`${file} holds no certificate of an authority: it may not sign others`)
}

/** Reads a certificate and its key. Throws ConfigError. */
export function readPair(certFile: string, keyFile: string): { cert: string; key: string } {
  return checkPair({ cert: read(certFile), key: read(keyFile) }, { certFile, keyFile })
}

/** Checks that a certificate and a key match. Throws ConfigError, which names their files. */
export function checkPair(
  { cert, key }: { readonly cert: string; readonly key: string },
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
): { cert: string; key: string } {
  const first = checkCertificates(cert, certFile)
  let parsed: KeyObject
  try {
    parsed = createPrivateKey(key)
  } catch {
    throw new ConfigError(`${keyFile} holds no private key in PEM`)
  }
  if (!first.checkPrivateKey(parsed)) throw new ConfigError(`the key in ${keyFile} does not belong to the certificate in ${certFile}`)
  return { cert, key }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

function readCertificates(file: string): { text: string; first: X509Certificate } {
  const text = read(file)
  return { text, first: checkCertificates(text, file) }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read ${file}: ${(error as Error).message}`)
  }
}
