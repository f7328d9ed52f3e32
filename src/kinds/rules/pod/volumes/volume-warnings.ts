/** Warnings about volumes: removed volume plugins, and files with conflicting paths. */
import { goQuote } from '../../../../lib/go-text.ts'
import { getOwn } from '../../../../lib/json-value.ts'
import { milliValue, parseQuantity } from '../../../../lib/quantity.ts'
import { trimEnd } from '../../../../lib/trim-end.ts'
import { entry, pathOf, type Ref } from '../../../../schema/refs.ts'
import type { PersistentVolumeClaimSpec } from '../../persistent-volume/claim.ts'
import type { VolumeProjection } from './volume-projections.ts'
import type { Volume, VolumeSource } from './volumes.ts'

/** Warnings about the volumes of a pod. */
export function* warnAboutVolumes(volumes: readonly Volume[], at: Ref<Volume[]>): Iterable<string> {
  for (const [i, volume] of volumes.entries()) {
    for (const [source, advice, shown] of OUTDATED) if (volume[source]) yield `${pathOf(at[i]!)}.${shown ?? source}: ${advice}`
    const claim = volume.ephemeral?.volumeClaimTemplate
    if (claim) yield* warnAboutClaim(claim.spec, at[i]!.ephemeral.volumeClaimTemplate.spec)
  }
  for (const volume of volumes) yield* warnAboutFiles(volume)
}

/** Warnings about the spec of a claim. */
export function* warnAboutClaim({ resources }: PersistentVolumeClaimSpec, at: Ref<PersistentVolumeClaimSpec>): Iterable<string> {
  for (const bound of ['requests', 'limits'] as const) {
    const amount = getOwn(resources?.[bound] ?? {}, 'storage')
    if (amount !== undefined && milliValue(parseQuantity(amount)) % 1000n !== 0n)
      yield `${pathOf(entry(at.resources[bound], 'storage'))}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`
  }
}

const OUTDATED: readonly (readonly [source: keyof VolumeSource, advice: string, shown?: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

type File = { readonly path: string; readonly source: string }

function* warnAboutFiles({ name, configMap, secret, downwardAPI, projected }: Volume): Iterable<string> {
  const warning = (what: string, overlap: string) => `volume ${goQuote(name)} (${what}): overlapping paths: ${overlap}`
  const plain = (items: readonly { path: string }[] | undefined) => overlapsIn((items ?? []).map(({ path }) => ({ path, source: '' })))
  for (const overlap of plain(configMap?.items)) yield warning(`ConfigMap ${goQuote(configMap?.name ?? '')}`, overlap)
  for (const overlap of plain(secret?.items)) yield warning(`Secret ${goQuote(secret?.secretName ?? '')}`, overlap)
  for (const overlap of plain(downwardAPI?.items)) yield warning('DownwardAPI', overlap)
  const sources = projected?.sources ?? []
  for (const source of sources) if (Object.keys(source).length === 0) yield `volume ${goQuote(name)} (Projected) has no sources provided`
  for (const overlap of overlapsIn(sources.flatMap(filesOf))) yield warning('Projected', overlap)
}

function filesOf({ configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate }: VolumeProjection): File[] {
  if (configMap?.items) return filed(configMap.items, `ConfigMap ${goQuote(configMap.name ?? '')}`)
  if (secret?.items) return filed(secret.items, `Secret ${goQuote(secret.name ?? '')}`)
  if (downwardAPI?.items) return filed(downwardAPI.items, 'DownwardAPI')
  if (serviceAccountToken) return filed([serviceAccountToken], 'ServiceAccountToken')
  if (clusterTrustBundle) {
    const { name, signerName } = clusterTrustBundle
    return filed([clusterTrustBundle], `ClusterTrustBundle ${goQuote(name ?? signerName ?? '')}`)
  }
  return [
    { path: podCertificate?.certificateChainPath ?? '', source: 'PodCertificate chain' },
    { path: podCertificate?.keyPath ?? '', source: 'PodCertificate key' },
    { path: podCertificate?.credentialBundlePath ?? '', source: 'PodCertificate credential bundle' },
  ].filter(({ path }) => path !== '')
}

const filed = (items: readonly { path: string }[], source: string): File[] => items.map(({ path }) => ({ path, source }))

/** Compares every file with earlier ones, up to a limit after which warnings would only repeat. */
function* overlapsIn(files: readonly File[]): Iterable<string> {
  const seen: File[] = []
  for (const { path, source } of files) {
    const file = { path: trimEnd(path, '/'), source }
    if (file.path === '') continue
    for (const other of seen)
      if (isWithin(file.path, other.path) || isWithin(other.path, file.path)) yield `${shown(file)} with ${shown(other)}`
    if (seen.length < MAX_COMPARED) seen.push(file)
  }
}
const MAX_COMPARED = 100

const isWithin = (path: string, directory: string): boolean => `${path}/`.startsWith(`${directory}/`)
const shown = ({ path, source }: File): string => (source === '' ? goQuote(path) : `${goQuote(path)} (${source})`)
