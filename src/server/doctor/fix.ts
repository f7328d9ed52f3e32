/** Mends findings one by one, each in a way that loses nothing that could still be read. */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { everyKind } from '../../kinds/every.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { openEmbeddedStore } from '../../storage/embedded/embedded.ts'
import { resourceOf } from '../../storage/resource-prefix.ts'
import { loadPki } from '../credentials/pki.ts'
import type { Fix } from './findings.ts'

/** The outcome of a fix, in words. */
export type Outcome = { readonly isDone: boolean; readonly text: string }

/** Mends something in a data directory that no server uses. Throws StoreUnavailable where one does. */
export async function fixInFolder(dir: string, fix: Fix, now: Date): Promise<Outcome> {
  switch (fix.kind) {
    case 'remove-record': {
      await using store = await openEmbeddedStore({ dir: join(dir, 'store') })
      const { entry } = await store.get(fix.key)
      if (entry?.fault === undefined && entry?.modified !== fix.modified) return { isDone: false, text: `${fix.key} has changed meanwhile` }
      const { ok } = await store.swap(fix.key, { expect: entry.modified, value: null })
      // The damaged bytes go with the history: no client watches while no server runs.
      if (ok) await store.compact((await store.extent()).newest)
      return { isDone: ok, text: ok ? `removed ${fix.key}` : `${fix.key} has changed meanwhile` }
    }
    case 'renew-certificates':
      await loadPki({ directory: dir, names: [], now }).saved
      return {
        isDone: true,
        text: `renewed the certificates in ${join(dir, 'pki')} that were due; a server writes its kubeconfig when it starts`,
      }
    case 'remove-leftover':
      rmSync(fix.path, { recursive: true, force: true })
      return { isDone: true, text: `removed ${fix.path}` }
    case 'close-file':
      chmodSync(fix.path, 0o600)
      return { isDone: true, text: `took the permissions of other users away from ${fix.path}` }
  }
}

/** The part of an API client that is used here. */
export type FixingApi = { delete(path: string): Promise<{ readonly ok: boolean; readonly message: string }> }

/** Mends something through the API, with the rights of the user. */
export async function fixThroughApi(api: FixingApi, fix: Fix): Promise<Outcome> {
  const offline = 'stop the server and run keelson doctor --fix --data-dir on its directory'
  const path = fix.kind === 'remove-record' ? objectPath(fix.key) : undefined
  if (fix.kind !== 'remove-record' || path === undefined)
    return { isDone: false, text: `this cannot be mended while the server runs: ${offline}` }
  const { ok, message } = await api.delete(`${path}?ignoreStoreReadErrorWithClusterBreakingPotential=true`)
  if (ok) return { isDone: true, text: `removed ${fix.key}` }
  return {
    isDone: false,
    text: `${fix.key} was not removed: ${message}; it takes --feature-gates AllowUnsafeMalformedObjectDeletion=true and the verb unsafe-delete-ignore-read-errors, or ${offline}`,
  }
}

/** The path of a built-in object in the API; undefined for others. */
function objectPath(key: string): string | undefined {
  const prefix = resourceOf(key)
  const resource = new Catalog(resourcesOf(everyKind, 'k8s.io')).storedResources().find(each => each.prefix === prefix)
  if (!resource) return undefined
  const { group, version, plural, namespaced } = resource
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const [first = '', second = ''] = key.slice(prefix.length).split('/').map(encodeURIComponent)
  return namespaced ? `${base}/namespaces/${first}/${plural}/${second}` : `${base}/${plural}/${first}`
}
