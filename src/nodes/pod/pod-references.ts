/** Reads the objects that a pod refers to and finds those that are missing, or not in the state that it needs. */
import type { Client } from '../../client/client.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { matchesLabels } from '../../kinds/rules/meta.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { missingForDevices } from './device-claims.ts'
import { type Lookup, type Missing, missingForContainer, missingForVolumes, type VolumeSources } from './references.ts'
import type { Gate } from './restart-policy.ts'
import { type ClaimReader, claimProblem } from './volume-claims.ts'

type TrustBundleProjection = Parameters<VolumeSources['hasBundle']>[0]

export class PodReferences {
  readonly #client: Client
  readonly #gate: Gate

  constructor(client: Client, gate: Gate) {
    this.#client = client
    this.#gate = gate
  }

  /** Why volumes and devices of a pod are missing. */
  missingForVolumes(pod: Pod, certificateProblem: VolumeSources['certificateProblem']): readonly Missing[] {
    const { namespace = '', name = '' } = pod.metadata
    const reader = this.#claimReader(namespace, pod.spec.nodeName ?? '')
    return [
      ...missingForVolumes(pod.spec, name, {
        lookup: this.#lookupIn(namespace),
        hasBundle: projection => this.#hasBundle(projection),
        claimProblem: (volume, claim) => claimProblem(volume, claim, reader),
        certificateProblem,
      }),
      ...missingForDevices(pod, {
        claimNamed: claim => this.#client.of(ResourceClaim).get({ namespace, name: claim }),
        hasGroupClaims: this.#gate('DRAWorkloadResourceClaims'),
      }),
    ]
  }

  /** Why the environment of a container cannot be created. */
  missingForContainer({ metadata: { namespace = '' } }: Pod, container: Container): Missing | undefined {
    return missingForContainer(container, namespace, this.#lookupIn(namespace))
  }

  #lookupIn(namespace: string): Lookup {
    const client = this.#client
    return (plural, name) => {
      if (plural === 'secrets') {
        const secret = client.of(Secret).get({ namespace, name })
        return secret && { has: key => Object.hasOwn(secret.data ?? {}, key) }
      }
      const map = client.of(ConfigMap).get({ namespace, name })
      return map && { has: key => Object.hasOwn(map.data ?? {}, key) || Object.hasOwn(map.binaryData ?? {}, key) }
    }
  }

  #claimReader(namespace: string, node: string): ClaimReader {
    const client = this.#client
    return {
      namespace,
      node,
      claim: name => client.of(PersistentVolumeClaim).get({ namespace, name }),
      volume: name => client.of(PersistentVolume).get({ name }),
      isAttached: (driver, name) =>
        client.of(CSIDriver).get({ name: driver })?.spec?.attachRequired === false ||
        client.of(VolumeAttachment).get({ name })?.status.attached === true,
    }
  }

  #hasBundle({ name, signerName = '', labelSelector }: TrustBundleProjection): boolean {
    const bundles = this.#client.of(ClusterTrustBundle)
    if (name !== undefined) return bundles.exists({ name })
    const ofSigner = bundles.revisions({ field: { key: 'spec.signerName', value: signerName } })
    return [...ofSigner].some(({ labels }) => matchesLabels(labelSelector, labels))
  }
}
