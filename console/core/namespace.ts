/** The namespace that lists begin with, kept by the browser; and the namespaces there are. */
import { effect, signal } from '@preact/signals'
import { get } from './api.ts'
import type { KubeObject } from './object.ts'

const KEY = 'keelson-namespace'

/** Empty: all namespaces. */
export const namespace = signal(stored())

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? ''
  } catch {
    return ''
  }
}

effect(() => {
  try {
    if (namespace.value === '') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, namespace.value)
  } catch {}
})

/** Names, as far as the user may list them. */
export const namespaces = signal<readonly string[]>([])

const MAX_NAMESPACES = 2000

export async function loadNamespaces(): Promise<void> {
  try {
    const { items } = await get<{ items: KubeObject[] }>(`/api/v1/namespaces?limit=${MAX_NAMESPACES}`, {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    })
    namespaces.value = items.map(({ metadata }) => metadata.name)
  } catch {
    // A user who may not list them types a name.
    namespaces.value = []
  }
}
