/**
 * The endpoints of a kubelet at `/api/v1/nodes/NAME/proxy/…`: its health, its pods, their usage, and metrics for
 * Prometheus.
 */

import type { Client } from '../../client/client.ts'
import { stringifyJson } from '../../codec/json.ts'
import type { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { exposition, type Family } from '../../lib/exposition.ts'
import type { Json } from '../../lib/json-value.ts'
import { integerValue, parseQuantity } from '../../lib/quantity.ts'
import { timestampOf } from '../../lib/time.ts'
import { trimEnd } from '../../lib/trim-end.ts'
import { yieldToOthers } from '../../lib/yield.ts'
import type { ObjectRevision } from '../../schema/object-revision.ts'
import { CLUSTER_DOMAIN } from '../container/identity.ts'
import { bytesOf, type Look, running, total, wholeNode } from '../usage/node-usage.ts'
import type { Measured } from '../usage/usage.ts'
import { cadvisorFamilies, ownFamilies, resourceFamilies } from './kubelet-metrics.ts'

export type KubeletAnswer = { readonly mediaType: string; readonly body: Uint8Array | AsyncIterable<Uint8Array> }

type Endpoint = (look: Look) => { readonly mediaType: string; readonly text: string }

/** Undefined for paths that a kubelet does not serve. */
export function kubeletAnswer(client: Client, node: Node, path: string): KubeletAnswer | undefined {
  const asked = trimEnd(path, '/')
  const { name = '' } = node.metadata
  const selection = { field: { key: 'spec.nodeName', value: name } }
  if (asked === '/pods') return { mediaType: 'application/json', body: storedPods([...client.of(Pod).revisions(selection)]) }
  const endpoint = ENDPOINTS.get(asked)
  if (!endpoint) return undefined
  const pods = [...client.of(Pod).list(selection)] as unknown as Pod[]
  const { mediaType, text } = endpoint({ node, pods, now: client.now.getTime() })
  return { mediaType, body: Buffer.from(text) }
}

/** All pods of a node as they are stored, one after the other: together they may exceed the maximum length of a string. */
async function* storedPods(pods: readonly ObjectRevision<any>[]): AsyncIterable<Uint8Array> {
  yield Buffer.from('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[')
  let separator = NOTHING
  for (const { json } of pods) {
    if (json.byteLength === 0) continue
    await yieldToOthers()
    yield Buffer.concat([separator, json])
    separator = COMMA
  }
  yield Buffer.from(']}')
}
const NOTHING = Buffer.alloc(0)
const COMMA = Buffer.from(',')

const healthy: Endpoint = () => ({ mediaType: 'text/plain; charset=utf-8', text: 'ok' })
const json = (value: unknown) => ({ mediaType: 'application/json', text: stringifyJson(value as Json) })
const metrics =
  (families: (look: Look) => readonly Family[]): Endpoint =>
  look => ({
    mediaType: 'text/plain; version=0.0.4; charset=utf-8',
    text: exposition(families(look).filter(({ samples }) => samples.length > 0)),
  })

const podList = (items: readonly object[]) => json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items })

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map([
  ['/healthz', healthy],
  ['/healthz/ping', healthy],
  ['/healthz/log', healthy],
  ['/healthz/syncloop', healthy],
  ['/runningpods', look => podList(running(look).map(({ pod, containers }) => runningPod(pod, containers)))],
  ['/configz', ({ node }) => json({ kubeletconfig: configuration(node) })],
  ['/stats/summary', look => json(summary(look))],
  ['/metrics', metrics(ownFamilies)],
  ['/metrics/resource', metrics(resourceFamilies)],
  ['/metrics/cadvisor', metrics(cadvisorFamilies)],
  ['/metrics/probes', metrics(() => [])],
])

/** A pod as the container runtime sees it. */
function runningPod({ metadata, spec }: Pod, containers: readonly Measured[]): object {
  const images = new Map(containersOf(spec).map(({ name, image }) => [name, image]))
  const { name, namespace, uid } = metadata
  return {
    metadata: { name, namespace, uid, creationTimestamp: null },
    spec: { containers: containers.map(each => ({ name: each.name, image: images.get(each.name), resources: {} })) },
    status: {},
  }
}

/** The part of a kubelet's configuration that the simulation defines. */
function configuration({ spec, status }: Node): object {
  return {
    enableServer: true,
    port: status.daemonEndpoints?.kubeletEndpoint?.Port,
    clusterDomain: CLUSTER_DOMAIN,
    nodeStatusUpdateFrequency: '10s',
    nodeStatusReportFrequency: '5m0s',
    nodeLeaseDurationSeconds: 40,
    maxPods: Number(status.capacity?.['pods'] ?? 0),
    ...(spec.podCIDR && { podCIDR: spec.podCIDR }),
    crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
  }
}

function summary(look: Look): object {
  const time = timestampOf(look.now)
  const usage = ({ cpuMs, cpu, memory }: { cpuMs: number; cpu: bigint; memory: bigint }) => ({
    cpu: { time, usageNanoCores: Number(cpu) * 1e6, usageCoreNanoSeconds: Math.round(cpuMs * 1e6) },
    memory: { time, usageBytes: bytesOf(memory), workingSetBytes: bytesOf(memory), rssBytes: bytesOf(memory) },
  })
  const whole = wholeNode(look)
  const capacity = Number(integerValue(parseQuantity(String(look.node.status.capacity?.['memory'] ?? '0'))))
  const { cpu, memory } = usage(whole)
  return {
    node: {
      nodeName: look.node.metadata.name,
      startTime: look.node.metadata.creationTimestamp,
      cpu,
      memory: { ...memory, availableBytes: Math.max(0, capacity - bytesOf(whole.memory)) },
    },
    pods: running(look).map(({ pod, containers }) => ({
      podRef: { name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
      startTime: pod.status.startTime,
      containers: containers.map(each => ({
        name: each.name,
        startTime: timestampOf(each.startedMs),
        ...usage({ cpuMs: each.cpuMs, ...each.amounts }),
      })),
      ...usage(total(containers)),
    })),
  }
}
