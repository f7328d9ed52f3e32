/** The authorities of the signers of Kubernetes: the server's own, or those of files, which may change while the server runs. */
import { readFileSync } from 'node:fs'
import type { Signing } from '../../controllers/csrsigning/controller.ts'
import { SIGNERS, type SignerName } from '../../controllers/csrsigning/signers.ts'
import type { Log } from '../../http/observability/log.ts'
import { type Authority, authorityOf } from '../../lib/x509/authority.ts'
import type { KeyPair } from '../../lib/x509/issue.ts'
import type { Config } from '../config.ts'
import { followFile } from '../files/follow-file.ts'
import { readPair, type SigningFiles, signingFiles } from '../files/own-files.ts'

export type SigningParts = {
  /** The current authority of the server. */
  readonly own: () => KeyPair
  readonly log: Log
  readonly signal: AbortSignal
}

/** With files for some signers, other components sign for the rest. Files are followed: a new pair signs from then on. */
export function openSigning(config: Config, { own, log, signal }: SigningParts): Signing {
  const files = signingFiles(config)
  const { clusterSigningDurationMs: durationMs } = config
  if (files.size === 0) {
    const current = remembered()
    return { authorityFor: () => current(own()), durationMs }
  }
  const authorities = new Map<SignerName, () => Authority>()
  const opened = new Map<string, () => Authority>()
  for (const [option, pair] of files) {
    const key = `${pair.cert}\n${pair.key}`
    const authority = opened.get(key) ?? followed(pair, { log, signal })
    opened.set(key, authority)
    for (const signer of SIGNERS_OF[option]) authorities.set(signer, authority)
  }
  return { authorityFor: signer => authorities.get(signer)?.(), durationMs }
}

const SIGNERS_OF: Readonly<Record<SigningFiles, readonly SignerName[]>> = {
  all: Object.values(SIGNERS),
  kubeletServing: [SIGNERS.kubeletServing],
  kubeletClient: [SIGNERS.kubeletClient],
  kubeApiserverClient: [SIGNERS.client],
  legacyUnknown: [SIGNERS.legacy],
}

/** The authority in two files, which were valid when they were first read. */
function followed({ cert, key }: { cert: string; key: string }, { log, signal }: Omit<SigningParts, 'own'>): () => Authority {
  let authority = authorityOf(readPair(cert, key))
  const take = () => {
    authority = authorityOf(readPair(cert, key))
    log.info({ file: cert }, 'the authority that signs certificates was read again')
  }
  // Both files are read when one changes. Until the other follows they do not match, and the previous pair stays in use.
  const failed = (error: string) =>
    log.warn({ error }, 'the authority that signs certificates could not be read again; the one before is used')
  const stops = [cert, key].map(file => followFile(file, { text: readFileSync(file, 'utf8'), take, failed }))
  signal.addEventListener(
    'abort',
    () => {
      for (const stop of stops) stop()
    },
    { once: true },
  )
  return () => authority
}

/** Parses a pair when it has changed. */
function remembered(): (pair: KeyPair) => Authority {
  let last: { readonly pair: KeyPair; readonly authority: Authority } | undefined
  return pair => {
    if (last?.pair.cert !== pair.cert) last = { pair, authority: authorityOf(pair) }
    return last.authority
  }
}
