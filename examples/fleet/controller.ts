// A controller of rollouts: it gives the devices of a group a new firmware, never more than `atOnce` of them at a time.
import {
  type Api,
  type ApiObject,
  eventRecorder,
  type Index,
  informer,
  leaderElection,
  namedBy,
  queueKey,
  type Signal,
  workQueue,
} from 'keelson/controller'

export type Device = ApiObject & {
  readonly spec: { readonly group: string; readonly firmware: string }
  readonly status?: { readonly firmware?: string }
}
export type Rollout = ApiObject & {
  readonly spec: { readonly group: string; readonly firmware: string; readonly atOnce: number }
  readonly status?: { readonly phase?: 'Updating' | 'Done'; readonly updated?: number; readonly total?: number }
}

export const DEVICES = { apiVersion: 'fleet.example/v1', kind: 'Device', plural: 'devices' }
export const ROLLOUTS = { apiVersion: 'fleet.example/v1', kind: 'Rollout', plural: 'rollouts' }

/** Devices and rollouts by their namespace and group. */
const byGroup: Index<Device | Rollout> = {
  name: 'group',
  valuesOf: ({ metadata, spec }) => [`${metadata.namespace}/${spec.group}`],
}

export type Options = { readonly signal: Signal; readonly onError: (error: unknown) => void }

/** Takes part in the election of the controller until the signal ends it; while it leads, it reconciles. */
export function runController(api: Api, { signal, onError }: Options): Promise<void> {
  const lead = ({ signal }: { readonly signal: Signal }) => reconcileAll(api, { signal, onError })
  return leaderElection({ api, namespace: 'kube-system', name: 'fleet-controller', signal, onError, lead })
}

async function reconcileAll(api: Api, { signal, onError }: Options): Promise<void> {
  const devices = api.of<Device>(DEVICES)
  const rollouts = api.of<Rollout>(ROLLOUTS)
  const cachedDevices = informer(devices, { signal, onError })
  const cachedRollouts = informer(rollouts, { signal, onError })
  const recorder = eventRecorder({ api, component: 'fleet-controller', onError })

  async function reconcile(key: string): Promise<void> {
    const rollout = cachedRollouts.get(namedBy(key))
    if (!rollout || rollout.metadata.deletionTimestamp) return
    const { group, firmware, atOnce } = rollout.spec
    const all = cachedDevices.byIndex(byGroup, `${rollout.metadata.namespace}/${group}`)
    const updating = all.filter(({ spec, status }) => spec.firmware !== status?.firmware)
    const outdated = all.filter(({ spec }) => spec.firmware !== firmware)
    // A device that is updating to an older firmware is not disturbed.
    const next = outdated.filter(device => !updating.includes(device)).slice(0, Math.max(0, atOnce - updating.length))
    for (const { metadata } of next) {
      const changed = await devices.patch(metadata, { metadata: { uid: metadata.uid }, spec: { firmware } })
      // The next reconcile must count it as updating, even if the event of this write comes later.
      if (changed) cachedDevices.saw(changed)
      recorder.event({ ...ROLLOUTS, ...rollout }, 'Normal', 'Updating', `${metadata.name} gets ${firmware}`)
    }
    const updated = all.filter(({ status }) => status?.firmware === firmware).length
    const status = { phase: updated === all.length ? 'Done' : 'Updating', updated, total: all.length }
    if (Object.entries(status).every(([name, value]) => rollout.status?.[name as keyof typeof status] === value)) return
    await rollouts.patch(rollout.metadata, { status }, { subresource: 'status' })
    if (status.phase === 'Done') recorder.event({ ...ROLLOUTS, ...rollout }, 'Normal', 'Done', `${group} runs ${firmware}`)
  }

  const queue = workQueue<string>({ name: 'rollouts', reconcile, signal, onError })
  await Promise.all([cachedDevices.synced, cachedRollouts.synced])
  cachedRollouts.onChange(({ object }) => queue.add(queueKey(object.metadata)))
  cachedDevices.onChange(({ object }) => {
    for (const { metadata } of cachedRollouts.byIndex(byGroup, `${object.metadata.namespace}/${object.spec.group}`))
      queue.add(queueKey(metadata))
  })
  await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  // The term is over when the last reconcile is.
  await queue.idle()
  await recorder.flushed()
}
