/** The tokens of a pod whose processes or simulated commands read them: requested as by a kubelet, and again when most of their time is over. */
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { millisecondsAt } from '../../lib/time.ts'
import type { TokenProjection } from '../container/sources.ts'

type Issued = { readonly token: string; readonly renewAt: number }

/** A kubelet renews a token after this part of its life, and after a day at the latest. */
const LIFE_PART = 0.8
const MAX_AGE_MS = 24 * 3600_000

export class PodTokens {
  readonly #client: Client
  readonly #groupDomain: string
  readonly #issued = new Map<string, Issued>()

  constructor(client: Client, groupDomain: string) {
    this.#client = client.as(serverIdentity())
    this.#groupDomain = groupDomain
  }

  /** Requests the tokens that are missing or due. Returns the time at which the next one is due. */
  async bring(pod: Pod, now: number): Promise<number> {
    const wanted = (pod.spec.volumes ?? []).flatMap(({ projected }) =>
      (projected?.sources ?? []).flatMap(each => each.serviceAccountToken ?? []),
    )
    for (const projection of wanted) {
      if (this.isDue(projection, now)) this.#issued.set(keyOf(projection), await this.#request(pod, projection, now))
    }
    return Math.min(...[...this.#issued.values()].map(({ renewAt }) => renewAt))
  }

  /** Whether a token is missing, or most of its time is over. */
  isDue(projection: TokenProjection, now: number): boolean {
    return (this.#issued.get(keyOf(projection))?.renewAt ?? 0) <= now
  }

  of(projection: TokenProjection): string | undefined {
    return this.#issued.get(keyOf(projection))?.token
  }

  async #request({ metadata, spec }: Pod, { audience, expirationSeconds = 3600 }: TokenProjection, now: number): Promise<Issued> {
    const { namespace = '', name = '', uid = '' } = metadata
    const account = spec.serviceAccountName ?? 'default'
    const written = await this.#client.of(ServiceAccount).createSubresource({ namespace, name: account }, 'token', {
      apiVersion: `authentication.${this.#groupDomain}/v1`,
      kind: 'TokenRequest',
      spec: {
        ...(audience && { audiences: [audience] }),
        expirationSeconds: Number(expirationSeconds),
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    })
    const { status } = (written?.object ?? {}) as { status?: { token?: string; expirationTimestamp?: string } }
    if (!status?.token) throw new Error(`serviceaccount "${account}" not found`)
    const lifeMs = millisecondsAt(status.expirationTimestamp ?? '') - now
    return { token: status.token, renewAt: now + Math.min(lifeMs * LIFE_PART, MAX_AGE_MS) }
  }
}

const keyOf = ({ audience = '', expirationSeconds }: TokenProjection): string => `${expirationSeconds} ${audience}`
