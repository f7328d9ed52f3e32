/** The driver of the simulated storage: installs itself on the cluster and its nodes, and provisions, attaches, resizes and deletes volumes. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { claimsOf } from '../../controllers/protection/usage.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { isDefaultStorageClass, newestDefault } from '../../kinds/rules/default-class.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { CSINode } from '../../kinds/storage/csinode.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { nodeIdentity } from '../node/identity.ts'
import { isSimulated, SIMULATED_LABEL } from '../node/is-simulated.ts'
import { csiNodeOf } from '../plugin/node-drivers.ts'
import { Attacher } from './attacher.ts'
import { classObject, DRIVER, driverObject, driverOnNode } from './driver.ts'
import { Provisioner } from './provisioner.ts'
import { Resizer } from './resizer.ts'

/** The key that installs the driver and its class: once, at the start. */
const SETUP = 'setup'
const [CLAIM, VOLUME, ATTACHMENT, NODE] = ['claim/', 'volume/', 'attachment/', 'node/']

export const simulatedStorage = defineController({
  name: 'simulated-storage',
  identity: serverIdentity('simulated-storage'),
  component: DRIVER,
  workers: 10,
  create({ client, recorder, recorderFor, enqueue }) {
    const [claims, volumes] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume)]
    const kubelets = new Map<string, EventRecorder>()
    const kubeletRecorder = (host: string): EventRecorder => {
      const known = kubelets.get(host) ?? recorderFor(client.as(nodeIdentity(host)), { component: 'kubelet', host })
      kubelets.set(host, known)
      return known
    }
    const provisioner = new Provisioner(client, recorder)
    const resizer = new Resizer({ client, recorder, kubeletRecorder })
    const attacher = new Attacher(client)
    enqueue(SETUP)

    async function reconcileClaim(key: string): Promise<void> {
      const claim = claims.get(namedBy(key))
      if (!claim) return
      const volume = claim.spec.volumeName ? volumes.get({ name: claim.spec.volumeName }) : undefined
      await (volume ? resizer.resize(claim, volume) : provisioner.provision(claim))
    }

    return {
      watches: [
        watch(PersistentVolumeClaim, ({ current, type }) => (type === 'deleted' ? undefined : `${CLAIM}${queueKey(current)}`)),
        watch(PersistentVolume, keysOfVolume),
        watch(VolumeAttachment, keysOfAttachment),
        watch(Node, ({ current, type }) =>
          type === 'added' && current.labels[SIMULATED_LABEL] === 'true' ? `${NODE}${current.name}` : undefined,
        ),
        watch(Pod, keysOfPod),
        watch(VolumeAttributesClass, ({ type }) => (type === 'deleted' ? [] : keysOfClaimsWithAttributes(claims.list()))),
      ],
      async reconcile(key) {
        if (key === SETUP) await install(client)
        else if (key.startsWith(CLAIM)) await reconcileClaim(key.slice(CLAIM.length))
        else if (key.startsWith(VOLUME)) await provisioner.reconcileVolume(key.slice(VOLUME.length))
        else if (key.startsWith(ATTACHMENT)) await attacher.reconcile(key.slice(ATTACHMENT.length))
        else await installOnNode(client, key.slice(NODE.length))
      },
    }
  },
})

/** Creates the driver and its class. An object that a user deleted is back after a restart, as after the installation of a real driver. */
async function install(client: Client): Promise<void> {
  const classes = client.of(StorageClass)
  await client.of(CSIDriver).create(driverObject)
  const hasDefault = newestDefault(classes.list(), isDefaultStorageClass) !== undefined
  if (!classes.exists(classObject(true).metadata)) await classes.create(classObject(!hasDefault))
}

async function installOnNode(client: Client, name: string): Promise<void> {
  const node = client.of(Node).get({ name })
  if (!node || !isSimulated(node)) return
  const own = client.as(nodeIdentity(name)).of(CSINode)
  const driver = driverOnNode(name)
  if (await own.create(csiNodeOf(node.metadata, [driver]))) return
  // Plugins may have been there first.
  const stored = own.get({ name })
  if (stored && !stored.spec.drivers?.some(each => each.name === DRIVER))
    await own.update({ ...stored, spec: { ...stored.spec, drivers: [...(stored.spec.drivers ?? []), driver] } } as CSINode)
}

function keysOfVolume({ current, type }: Change<PersistentVolume>): string[] {
  if (type === 'deleted') return []
  const claimRef = current.object?.spec.claimRef
  return [`${VOLUME}${current.name}`, ...(claimRef ? [`${CLAIM}${queueKey(claimRef)}`] : [])]
}

/** A volume whose attachment is gone may be deleted. */
function keysOfAttachment({ current, type }: Change<VolumeAttachment>): string | undefined {
  if (type !== 'deleted') return `${ATTACHMENT}${current.name}`
  const volume = current.object?.spec.source.persistentVolumeName
  return volume ? `${VOLUME}${volume}` : undefined
}

/** A pod that has begun to run has its volumes mounted. */
function keysOfPod({ current, previous }: Change<Pod>): string[] {
  const hasBegun = current.fields['status.phase'] === 'Running' && previous?.fields['status.phase'] !== 'Running'
  return hasBegun && current.object ? claimsOf(current.object).map(key => `${CLAIM}${key}`) : []
}

/** Few claims wait for a class of attributes, and these classes change seldom. */
const keysOfClaimsWithAttributes = (claims: Iterable<PersistentVolumeClaim>): string[] =>
  [...claims].filter(({ spec }) => spec.volumeAttributesClassName).map(({ metadata }) => `${CLAIM}${queueKey(metadata)}`)
