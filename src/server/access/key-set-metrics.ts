/** Metrics of the keys that issuers of tokens publish, under the names of kube-apiserver. */
import { wallMs } from '../../lib/environment.ts'
import type { Family, Labels } from '../../lib/exposition.ts'
import { hashOf, SERVER } from '../files/reload-metrics.ts'

type Fetches = { readonly success?: number; readonly failure?: number; readonly hash?: string }

export class KeySetMetrics {
  readonly #byIssuer = new Map<string, Fetches>()

  /** Records that the keys of an issuer were fetched, or that this failed, at a time in seconds. */
  fetched(issuer: string, keySet: string | undefined, seconds: number): void {
    const known = this.#byIssuer.get(issuer)
    this.#byIssuer.set(issuer, keySet === undefined ? { ...known, failure: seconds } : { ...known, success: seconds, hash: hashOf(keySet) })
  }

  /** Records the fetches of one issuer, if the gate for that is on. */
  observerOf(issuer: string, gate: (name: string) => boolean): { readonly fetched?: (keySet?: string) => void } {
    if (!gate('StructuredAuthenticationConfigurationJWKSMetrics')) return {}
    return { fetched: keySet => this.fetched(issuer, keySet, wallMs() / 1000) }
  }

  /** Forgets the issuers that are not configured any more. */
  keep(issuers: readonly string[]): void {
    for (const issuer of this.#byIssuer.keys()) if (!issuers.includes(issuer)) this.#byIssuer.delete(issuer)
  }

  families(): Family[] {
    const [times, sets]: [(readonly [Labels, number])[], (readonly [Labels, number])[]] = [[], []]
    for (const [issuer, { success, failure, hash }] of this.#byIssuer) {
      const labels = { ...SERVER, jwt_issuer_hash: hashOf(issuer) }
      if (success !== undefined) times.push([{ ...labels, result: 'success' }, success])
      if (failure !== undefined) times.push([{ ...labels, result: 'failure' }, failure])
      if (hash !== undefined) sets.push([{ ...labels, hash }, 1])
    }
    const families: Family[] = [
      {
        name: `${PREFIX}_timestamp_seconds`,
        help: 'When the keys of an issuer were last fetched, by result.',
        type: 'gauge',
        across: 'max',
        samples: times,
      },
      { name: `${PREFIX}_key_set_info`, help: 'The last keys of an issuer, by their hash.', type: 'gauge', across: 'max', samples: sets },
    ]
    return families.filter(({ samples }) => samples.length > 0)
  }
}

const PREFIX = 'apiserver_authentication_jwt_authenticator_jwks_fetch_last'
