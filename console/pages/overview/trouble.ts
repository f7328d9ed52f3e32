/** Finds trouble: pods that no node takes or that fail, deletions that do not end, webhooks and aggregated APIs that fail. */

import { get } from '../../core/api.ts'
import { findKind, type Kind, listPath } from '../../core/discovery.ts'
import { type Health, healthOf } from '../../core/health.ts'
import { loadMetrics } from '../../core/metrics.ts'
import type { KubeObject } from '../../core/object.ts'
import { readMessage } from '../../core/scheduling.ts'
import { now } from '../../core/time.ts'

export type Trouble = {
  readonly key: string
  readonly tone: 'bad' | 'warn'
  readonly title: string
  readonly detail: string
  readonly kind?: Kind
  readonly object?: KubeObject
  readonly since: string
}

const STUCK_MS = 60_000
const MAX_READ = 1000

export async function findTrouble(namespace: string, signal: AbortSignal): Promise<Trouble[]> {
  const list = async (group: string, plural: string, isLimited = true): Promise<{ kind: Kind; object: KubeObject }[]> => {
    const kind = findKind(group, plural)
    if (!kind) return []
    const path = listPath(kind, kind.namespaced ? namespace : undefined)
    return get<{ items: KubeObject[] }>(`${path}${isLimited ? `?limit=${MAX_READ}` : ''}`, { signal }).then(
      ({ items }) => items.map(object => ({ kind, object })),
      () => [],
    )
  }
  const [pods, nodes, namespaces, claims, volumes, deployments, apis, webhooks] = await Promise.all([
    list('', 'pods'),
    list('', 'nodes'),
    list('', 'namespaces'),
    list('', 'persistentvolumeclaims'),
    list('', 'persistentvolumes'),
    list('apps', 'deployments'),
    list('apiregistration.k8s.io', 'apiservices'),
    failingWebhooks(signal),
  ])
  const found: Trouble[] = [...webhooks]
  const add = (
    tone: Trouble['tone'],
    title: string,
    detail: string,
    { kind, object }: { kind: Kind; object: KubeObject },
    since = object.metadata.creationTimestamp ?? '',
  ) => found.push({ key: `${kind.plural}/${object.metadata.uid}/${title}`, tone, title, detail, kind, object, since })
  for (const one of [...pods, ...namespaces, ...claims, ...volumes, ...deployments]) {
    const { deletionTimestamp, finalizers } = one.object.metadata
    if (deletionTimestamp && now.peek() - Date.parse(deletionTimestamp) > STUCK_MS)
      add(
        'bad',
        'Deletion does not end',
        finalizers?.length
          ? `waits for ${finalizers.join(', ')}`
          : (one.object['spec']?.finalizers ?? []).join(', ') || 'its end is not reported',
        one,
        deletionTimestamp,
      )
  }
  for (const one of pods) {
    if (one.object.metadata.deletionTimestamp) continue
    const health = healthOf(one.object)
    if (health.tone === 'bad') add('bad', health.text, reasonOf(health), one)
  }
  for (const one of nodes) {
    const health = healthOf(one.object)
    if (health.tone === 'bad' || health.tone === 'warn') add(health.tone, health.text, health.detail ?? '', one)
  }
  for (const one of [...deployments, ...claims]) {
    const health = healthOf(one.object)
    if (
      health.tone === 'bad' ||
      (health.tone === 'warn' && now.peek() - Date.parse(one.object.metadata.creationTimestamp ?? '') > STUCK_MS)
    )
      add(health.tone, health.text, health.detail ?? '', one)
  }
  for (const one of apis) {
    const available = (one.object['status']?.conditions ?? []).find(({ type }: { type: string }) => type === 'Available')
    if (available?.status === 'False') add('bad', 'API is not available', available.message ?? '', one)
  }
  return found.sort((a, b) => (a.tone === b.tone ? (a.since < b.since ? 1 : -1) : a.tone === 'bad' ? -1 : 1))
}

const reasonOf = ({ detail = '' }: Health): string => {
  const message = readMessage(detail)
  return message ? message.reasons.map(({ nodes, text }) => `${nodes} of ${message.total} nodes ${text}`).join('; ') : detail
}

const FAILURES = ['apiserver_admission_webhook_rejection_count', 'apiserver_admission_webhook_fail_open_count']

/** Webhooks that could not be called, as the metrics count them since the start. */
async function failingWebhooks(signal: AbortSignal): Promise<Trouble[]> {
  try {
    const metrics = await loadMetrics(new Set(FAILURES), signal)
    const counts = new Map<string, number>()
    for (const { labels, value } of metrics.get(FAILURES[0]!) ?? [])
      if (labels['error_type'] !== 'no_error') counts.set(labels['name']!, (counts.get(labels['name']!) ?? 0) + value)
    for (const { labels, value } of metrics.get(FAILURES[1]!) ?? []) counts.set(labels['name']!, (counts.get(labels['name']!) ?? 0) + value)
    return [...counts]
      .filter(([, count]) => count > 0)
      .map(([name, count]) => ({
        key: `webhook ${name}`,
        tone: 'bad',
        title: `Webhook ${name} fails`,
        detail: `${count} calls failed since the server started`,
        since: '',
      }))
  } catch {
    return []
  }
}
