/** The driver of the simulated storage: it makes, attaches, changes and deletes volumes, as the helpers beside a real driver do. */
import type { EventRecorder, Notice } from '../../client/event-recorder.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Named, namedBy, queueKey } from '../../client/object-revision.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { CLAIM_INDEX, claimsOf } from '../../controllers/protection/usage.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { isDefaultStorageClass, newestDefault } from '../../kinds/rules/default-class.ts'
import { SELECTED_NODE } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { CSINode } from '../../kinds/storage/csinode.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { timestampOf } from '../../lib/time.ts'
import { nodeIdentity } from '../node/identity.ts'
import { isSimulated, SIMULATED_LABEL } from '../node/is-simulated.ts'
import { isAlive } from '../node/simulated-node.ts'
import { ATTACHER_FINALIZER, classObject, DRIVER, driverObject, nodeDrivers } from './driver.ts'
import { isOurs, provisionStep, volumeStep } from './provision.ts'
import { fileSystemResized, modifyStep, type ResizeStep, resizeStep } from './resize.ts'

type Claim = PersistentVolumeClaim
type Volume = PersistentVolume

/** The key that creates the driver and the class: once, at the start. */
const SETUP = 'setup'
const [CLAIM, VOLUME, ATTACHMENT, NODE] = ['claim/', 'volume/', 'attachment/', 'node/']

export const simulatedStorage = defineController({
  name: 'simulated-storage',
  identity: serverIdentity('simulated-storage'),
  component: DRIVER,
  workers: 10,
  create({ client, recorder, recorderFor, enqueue }) {
    const [claims, volumes, classes] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), client.of(StorageClass)]
    const [attachments, attributes, nodes] = [client.of(VolumeAttachment), client.of(VolumeAttributesClass), client.of(Node)]
    const say = (object: Claim | Volume, { type, reason, message }: Notice) => recorder.event(object, type, reason, message)
    const attributesClass = (name: string) => attributes.get({ name })
    const pods = client.of(Pod)
    const kubelets = new Map<string, EventRecorder>()
    enqueue(SETUP)

    /** What was deleted on purpose while the server ran is back after a restart, as what comes with an installation is. */
    async function setUp(): Promise<void> {
      await client.of(CSIDriver).create(driverObject)
      const hasDefault = newestDefault(classes.list(), isDefaultStorageClass) !== undefined
      if (!classes.exists(classObject(true).metadata)) await classes.create(classObject(!hasDefault))
    }

    async function reconcileClaim(named: Named): Promise<void> {
      const claim = claims.get(named)
      if (!claim) return
      const volume = claim.spec.volumeName ? volumes.get({ name: claim.spec.volumeName }) : undefined
      if (volume) {
        const now = timestampOf(client.now)
        const step = isOurs(volume) ? (resizeStep(claim, volume, now) ?? modifyStep(claim, attributesClass)) : undefined
        if (step) await change(claim, volume, step)
        else await growFileSystem(claim, volume)
        return
      }
      const storageClass = classes.get({ name: classOf(claim) ?? '' })
      const hasNode = (name: string) => nodes.exists({ name })
      const step = provisionStep(claim, { storageClass, attributesClass, hasNode })
      switch (step?.step) {
        case 'make': {
          const { name } = step.volume.metadata
          if (volumes.exists({ name })) return
          say(claim, {
            type: 'Normal',
            reason: 'Provisioning',
            message: `External provisioner is provisioning volume for claim "${queueKey(claim.metadata)}"`,
          })
          await volumes.create(step.volume)
          say(claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message: `Successfully provisioned volume ${name}` })
          return
        }
        case 'unselect': {
          const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {}
          await claims.update({ ...claim, metadata: { ...claim.metadata, annotations } })
          say(claim, step.notice)
          return
        }
        case 'say':
          say(claim, step.notice)
      }
    }

    /** The node that has it mounted makes the file system as large as the volume is by now. */
    async function growFileSystem(claim: Claim, volume: Volume): Promise<void> {
      const status = fileSystemResized(claim)
      if (!status) return
      for (const pod of pods.byIndex(CLAIM_INDEX, queueKey(claim.metadata))) {
        const { nodeName = '' } = pod.spec
        if (pod.status.phase !== 'Running' || !isAlive(nodes.get({ name: nodeName }))) continue
        if (!(await claims.updateStatus({ ...claim, status }))) return
        const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.metadata.name}" ${nodeName}`
        kubelet(nodeName).event(pod, 'Normal', 'FileSystemResizeSuccessful', message)
        return
      }
    }

    function kubelet(host: string): EventRecorder {
      const known = kubelets.get(host) ?? recorderFor(client.as(nodeIdentity(host)), { component: 'kubelet', host })
      kubelets.set(host, known)
      return known
    }

    /** The volume first: what the claim says has then come true. */
    async function change(claim: Claim, volume: Volume, { spec, status, notices }: ResizeStep): Promise<void> {
      if (spec && !(await volumes.update({ ...volume, spec: { ...volume.spec, ...spec } }))) return
      if (!(await claims.updateStatus({ ...claim, status }))) return
      for (const notice of notices) say(claim, notice)
    }

    async function reconcileVolume(name: string): Promise<void> {
      const volume = volumes.get({ name })
      if (!volume) return
      const attachedTo = () =>
        [...attachments.list()].filter(({ spec }) => spec.source.persistentVolumeName === name).map(({ spec }) => spec.nodeName)
      const step = isOurs(volume) ? volumeStep(volume, attachedTo()) : undefined
      if (step?.step === 'delete') await volumes.delete(volume)
      if (step?.step === 'say') say(volume, step.notice)
      if (step?.step === 'finalizers') await volumes.update({ ...volume, metadata: { ...volume.metadata, finalizers: step.finalizers } })
    }

    async function reconcileAttachment(name: string): Promise<void> {
      const attachment = attachments.get({ name })
      if (!attachment || attachment.spec.attacher !== DRIVER) return
      const { finalizers = [], deletionTimestamp } = attachment.metadata
      if (!deletionTimestamp) {
        const held = finalizers.includes(ATTACHER_FINALIZER)
          ? attachment
          : (
              await attachments.update({
                ...attachment,
                metadata: { ...attachment.metadata, finalizers: [...finalizers, ATTACHER_FINALIZER] },
              })
            )?.object
        if (held && !held.status.attached) await attachments.updateStatus({ ...held, status: { attached: true } })
        return
      }
      if (!finalizers.includes(ATTACHER_FINALIZER)) return
      const left = finalizers.filter(each => each !== ATTACHER_FINALIZER)
      await attachments.update({ ...attachment, metadata: { ...attachment.metadata, finalizers: left } })
    }

    async function reconcileNode(name: string): Promise<void> {
      const node = nodes.get({ name })
      if (node && isSimulated(node)) await client.as(nodeIdentity(name)).of(CSINode).create(nodeDrivers(node.metadata))
    }

    return {
      watches: [
        watch(PersistentVolumeClaim, ({ current, type }) => (type === 'deleted' ? undefined : `${CLAIM}${queueKey(current)}`)),
        watch(PersistentVolume, ({ current, type }) => {
          const claimRef = current.object?.spec.claimRef
          return type === 'deleted' ? [] : [`${VOLUME}${current.name}`, ...(claimRef ? [`${CLAIM}${queueKey(claimRef)}`] : [])]
        }),
        watch(VolumeAttachment, ({ current, type }) => {
          const volume = type === 'deleted' ? current.object?.spec.source.persistentVolumeName : undefined
          return [...(type === 'deleted' ? [] : [`${ATTACHMENT}${current.name}`]), ...(volume ? [`${VOLUME}${volume}`] : [])]
        }),
        watch(Node, ({ current, type }) =>
          type === 'added' && current.labels[SIMULATED_LABEL] === 'true' ? `${NODE}${current.name}` : undefined,
        ),
        watch(Pod, ({ current, previous }) => {
          const isNew = current.fields['status.phase'] === 'Running' && previous?.fields['status.phase'] !== 'Running'
          return isNew && current.object ? claimsOf(current.object).map(key => `${CLAIM}${key}`) : undefined
        }),
        // Claims that wait for one are few, and so are changes of these.
        watch(VolumeAttributesClass, ({ type }) =>
          type === 'deleted'
            ? []
            : Array.from(claims.list(), ({ metadata, spec }) =>
                spec.volumeAttributesClassName ? `${CLAIM}${queueKey(metadata)}` : '',
              ).filter(Boolean),
        ),
      ],
      async reconcile(key) {
        if (key === SETUP) await setUp()
        else if (key.startsWith(CLAIM)) await reconcileClaim(namedBy(key.slice(CLAIM.length)))
        else if (key.startsWith(VOLUME)) await reconcileVolume(key.slice(VOLUME.length))
        else if (key.startsWith(ATTACHMENT)) await reconcileAttachment(key.slice(ATTACHMENT.length))
        else await reconcileNode(key.slice(NODE.length))
      },
    }
  },
})
