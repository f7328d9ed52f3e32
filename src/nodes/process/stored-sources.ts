/** The objects behind variables and files of local processes, read from the store. */
import type { Client } from '../../client/client.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { matchesLabels } from '../../kinds/rules/meta.ts'
import { entriesOfMap, entriesOfSecret, type Sources } from '../container/sources.ts'

export type StoredSourcesParts = { readonly client: Client; readonly pod: Pod; readonly allocatable: Sources['allocatable'] }

export function storedSources({ client, pod, allocatable }: StoredSourcesParts): Sources {
  const { namespace = '' } = pod.metadata
  const read = (plural: 'configmaps' | 'secrets', name = '') =>
    plural === 'secrets'
      ? { secret: client.of(Secret).get({ namespace, name }) as Secret | undefined }
      : { map: client.of(ConfigMap).get({ namespace, name }) as ConfigMap | undefined }
  return {
    entries(plural, name) {
      const { secret, map } = read(plural, name) as { secret?: Secret; map?: ConfigMap }
      return secret ? entriesOfSecret(secret) : map && entriesOfMap(map)
    },
    *services(withOwn) {
      const services = client.of(Service)
      const server = services.get({ namespace: 'default', name: 'kubernetes' }) as Service | undefined
      if (server && !(withOwn && namespace === 'default')) yield server
      if (withOwn) yield* services.list({ namespace }) as Iterable<Service>
    },
    bundles({ name, signerName = '', labelSelector }) {
      const bundles = client.of(ClusterTrustBundle)
      const one = name === undefined ? undefined : bundles.get({ name })
      const found =
        name === undefined
          ? [...bundles.list({ field: { key: 'spec.signerName', value: signerName } })].filter(({ metadata }) =>
              matchesLabels(labelSelector, metadata.labels ?? {}),
            )
          : one
            ? [one]
            : []
      return found.map(({ spec }) => spec.trustBundle ?? '')
    },
    allocatable,
  }
}
