/** Webhooks and policies that come from manifest files and not from clients: `staticManifestsDir` of their plugins' configurations. */
import type { AnyObject } from '../schema/object-meta.ts'

/** The server gives objects of clients other uids. */
const PREFIX = 'manifest/'

/** The uid of an object from a file, by the content of which it is known. */
export const manifestUid = (hash: string): string => PREFIX + hash

export const isFromManifest = ({ metadata }: AnyObject): boolean => metadata.uid?.startsWith(PREFIX) ?? false

/** The order in which configurations and policies have a say: those of manifests first, then by name. */
export const byOriginAndName = (a: AnyObject, b: AnyObject): number =>
  Number(isFromManifest(b)) - Number(isFromManifest(a)) || (a.metadata.name! < b.metadata.name! ? -1 : 1)
