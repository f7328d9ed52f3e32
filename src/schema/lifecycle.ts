/** In which releases of Kubernetes a version of a kind is served, and from which on clients are warned about it. */

/** Major and minor number of a release of Kubernetes. */
export type Release = `1.${number}`

/** The release whose API is served unless an earlier one is emulated. */
export const CURRENT_RELEASE: Release = '1.37'

/** The releases that a server follows. */
export interface Releases {
  /** The release whose API is served. */
  readonly emulated: Release
  /** The oldest release that must be able to read the records. */
  readonly oldest: Release
}
export const CURRENT_RELEASES: Releases = { emulated: CURRENT_RELEASE, oldest: '1.36' }

export interface Lifecycle {
  readonly introduced: Release
  /** Clients are warned from this release on. */
  readonly deprecated?: Release
  /** The first release that does not serve it. */
  readonly removed?: Release
  /** The version of the same kind that the warning recommends. */
  readonly replacement?: string
}

export const minorOf = (release: Release): number => Number(release.slice(release.indexOf('.') + 1))

/** Whether a release comes before another one. */
export const isBefore = (release: Release, other: Release): boolean => minorOf(release) < minorOf(other)

/** The warning about a version that is deprecated in a release. */
export function deprecationWarning(
  { group, version, kind }: { readonly group: string; readonly version: string; readonly kind: string },
  { deprecated, removed, replacement }: Lifecycle,
  release: Release,
): string | undefined {
  if (deprecated === undefined || isBefore(release, deprecated)) return undefined
  const unavailable = removed === undefined ? '' : `, unavailable in v${removed}+`
  const instead = replacement === undefined ? '' : `; use ${group}/${replacement} ${kind}`
  return `${group}/${version} ${kind} is deprecated in v${deprecated}+${unavailable}${instead}`
}
