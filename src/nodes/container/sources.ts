/** The objects that variables and files of containers are made of, as the cache has them. */
import type { Client } from '../../client/client.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { matchesLabels } from '../../kinds/shapes/meta.ts'
import type { VolumeProjection } from '../../kinds/shapes/pod/volumes/volume-projections.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import type { NodeObject } from '../node/simulated-node.ts'

type TrustBundleProjection = NonNullable<VolumeProjection['clusterTrustBundle']>

export type Sources = {
  /** The entries of an object in the namespace of the pod; undefined when there is none. */
  readonly entries: (plural: 'configmaps' | 'secrets', name: string | undefined) => ReadonlyMap<string, () => string> | undefined
  /** The services that pods are told of: the API server's, and those of their namespace. */
  readonly services: (withOwn: boolean) => Iterable<ObjectOf<typeof Service>>
  /** The certificates of trust bundles, one text for each of them. */
  readonly bundles: (projection: TrustBundleProjection) => readonly string[]
  readonly allocatable: Readonly<Record<string, string>> | undefined
}

type Entries = ReturnType<Sources['entries']>

/** As they are now: each object is read once, however often it is referred to. */
export function sourcesOf(client: Client, namespace: string, { status }: Pick<NodeObject, 'status'>): Sources {
  const decoded = ([key, value]: [string, string]) => [key, () => Buffer.from(value, 'base64').toString()] as const
  const secretEntries = (name: string): Entries => {
    const secret = client.of(Secret).get({ namespace, name })
    return secret && new Map(Object.entries(secret.data ?? {}).map(decoded))
  }
  const mapEntries = (name: string): Entries => {
    const map = client.of(ConfigMap).get({ namespace, name })
    const texts = Object.entries(map?.data ?? {}).map(([key, value]) => [key, () => value] as const)
    return map && new Map([...texts, ...Object.entries(map.binaryData ?? {}).map(decoded)])
  }
  const read = { secrets: new Map<string, Entries>(), configmaps: new Map<string, Entries>() }
  return {
    entries(plural, name = '') {
      const known = read[plural]
      if (!known.has(name)) known.set(name, plural === 'secrets' ? secretEntries(name) : mapEntries(name))
      return known.get(name)
    },
    *services(withOwn) {
      const services = client.of(Service)
      const own = withOwn ? services.list({ namespace }) : []
      const server = services.get({ namespace: 'default', name: 'kubernetes' })
      if (server && !(withOwn && namespace === 'default')) yield server
      yield* own
    },
    bundles({ name, signerName = '', labelSelector }) {
      const bundles = client.of(ClusterTrustBundle)
      const found =
        name === undefined
          ? [...bundles.list({ field: { key: 'spec.signerName', value: signerName } })].filter(({ metadata }) =>
              matchesLabels(labelSelector, metadata.labels ?? {}),
            )
          : [bundles.get({ name })]
      return found.map(bundle => bundle?.spec.trustBundle ?? '')
    },
    allocatable: status.allocatable as Readonly<Record<string, string>> | undefined,
  }
}
