/**
 * The kinds of an API server for kinds of one's own, one line each, sorted: those of Kubernetes' generic control plane, which knows no pods
 * and nothing that is made of them.
 */
import type { Kind } from '../schema/kind.ts'
import { MutatingAdmissionPolicy } from './admissionregistration/mutatingadmissionpolicy.ts'
import { MutatingAdmissionPolicyBinding } from './admissionregistration/mutatingadmissionpolicybinding.ts'
import { MutatingWebhookConfiguration } from './admissionregistration/mutatingwebhookconfiguration.ts'
import { ValidatingAdmissionPolicy } from './admissionregistration/validatingadmissionpolicy.ts'
import { ValidatingAdmissionPolicyBinding } from './admissionregistration/validatingadmissionpolicybinding.ts'
import { ValidatingWebhookConfiguration } from './admissionregistration/validatingwebhookconfiguration.ts'
import { CertificateSigningRequest } from './certificates/certificatesigningrequest.ts'
import { ClusterTrustBundle } from './certificates/clustertrustbundle.ts'
import { ConfigMap } from './core/configmap.ts'
import { Event } from './core/event.ts'
import { ResourceQuota } from './core/resourcequota.ts'
import { Secret } from './core/secret.ts'
import { ServiceAccount } from './core/serviceaccount.ts'
import { Event as EventsEvent } from './events/event.ts'
import { requiredKinds } from './required.ts'
import { StorageVersionMigration } from './storagemigration/storageversionmigration.ts'

export const minimalKinds: readonly Kind<any>[] = [
  ...requiredKinds,
  CertificateSigningRequest,
  ClusterTrustBundle,
  ConfigMap,
  Event,
  EventsEvent,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ResourceQuota,
  Secret,
  ServiceAccount,
  StorageVersionMigration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
]
