/** The objects behind variables and files of containers. */
import type { ConfigMap } from '../../kinds/core/configmap.ts'
import type { Secret } from '../../kinds/core/secret.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import type { VolumeProjection } from '../../kinds/rules/pod/volumes/volume-projections.ts'
import { textOfBytes } from './byte-text.ts'

export type TrustBundleProjection = NonNullable<VolumeProjection['clusterTrustBundle']>
export type TokenProjection = NonNullable<VolumeProjection['serviceAccountToken']>
/** Texts of bytes: files need not be text. */
export type Entries = ReadonlyMap<string, () => string>

export type Sources = {
  /** The entries of an object in the namespace of the pod; undefined when it does not exist. */
  readonly entries: (plural: 'configmaps' | 'secrets', name: string | undefined) => Entries | undefined
  /** A token of the pod; undefined where it gets none. */
  readonly token?: (projection: TokenProjection) => string | undefined
  /** The services with environment variables: the API server's, and those of the namespace. */
  readonly services: (withOwn: boolean) => Iterable<Service>
  /** The certificates of trust bundles, one string for each bundle. */
  readonly bundles: (projection: TrustBundleProjection) => readonly string[]
  readonly allocatable: Readonly<Record<string, string>> | undefined
}

const decoded = ([key, value]: [string, string]) => [key, () => textOfBytes(Buffer.from(value, 'base64'))] as const

export const entriesOfSecret = ({ data }: Secret): Entries => new Map(Object.entries(data ?? {}).map(decoded))

export function entriesOfMap({ data, binaryData }: ConfigMap): Entries {
  const texts = Object.entries(data ?? {}).map(([key, value]) => [key, () => value] as const)
  return new Map([...texts, ...Object.entries(binaryData ?? {}).map(decoded)])
}
