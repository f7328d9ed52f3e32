/** Every kind that is built in: one line each, sorted. */
import type { Kind } from '../schema/kind.ts'
import { MutatingAdmissionPolicy } from './admissionregistration/mutatingadmissionpolicy.ts'
import { MutatingAdmissionPolicyBinding } from './admissionregistration/mutatingadmissionpolicybinding.ts'
import { MutatingWebhookConfiguration } from './admissionregistration/mutatingwebhookconfiguration.ts'
import { ValidatingAdmissionPolicy } from './admissionregistration/validatingadmissionpolicy.ts'
import { ValidatingAdmissionPolicyBinding } from './admissionregistration/validatingadmissionpolicybinding.ts'
import { ValidatingWebhookConfiguration } from './admissionregistration/validatingwebhookconfiguration.ts'
import { CustomResourceDefinition } from './apiextensions/customresourcedefinition.ts'
import { APIService } from './apiregistration/apiservice.ts'
import { ControllerRevision } from './apps/controllerrevision.ts'
import { DaemonSet } from './apps/daemonset.ts'
import { Deployment } from './apps/deployment.ts'
import { ReplicaSet } from './apps/replicaset.ts'
import { StatefulSet } from './apps/statefulset.ts'
import { SelfSubjectReview } from './authentication/selfsubjectreview.ts'
import { TokenReview } from './authentication/tokenreview.ts'
import { LocalSubjectAccessReview } from './authorization/localsubjectaccessreview.ts'
import { SelfSubjectAccessReview } from './authorization/selfsubjectaccessreview.ts'
import { SelfSubjectRulesReview } from './authorization/selfsubjectrulesreview.ts'
import { SubjectAccessReview } from './authorization/subjectaccessreview.ts'
import { HorizontalPodAutoscaler } from './autoscaling/horizontalpodautoscaler.ts'
import { HorizontalPodAutoscalerV1 } from './autoscaling/horizontalpodautoscaler-v1.ts'
import { CronJob } from './batch/cronjob.ts'
import { Job } from './batch/job.ts'
import { CertificateSigningRequest } from './certificates/certificatesigningrequest.ts'
import { ClusterTrustBundle } from './certificates/clustertrustbundle.ts'
import { PodCertificateRequest } from './certificates/podcertificaterequest.ts'
import { PodCertificateRequestV1 } from './certificates/podcertificaterequest-v1.ts'
import { Lease } from './coordination/lease.ts'
import { Binding } from './core/binding.ts'
import { ComponentStatus } from './core/componentstatus.ts'
import { ConfigMap } from './core/configmap.ts'
import { Endpoints } from './core/endpoints.ts'
import { Event } from './core/event.ts'
import { LimitRange } from './core/limitrange.ts'
import { Namespace } from './core/namespace.ts'
import { Node } from './core/node.ts'
import { PersistentVolume } from './core/persistentvolume.ts'
import { PersistentVolumeClaim } from './core/persistentvolumeclaim.ts'
import { Pod } from './core/pod/pod.ts'
import { PodTemplate } from './core/podtemplate.ts'
import { ReplicationController } from './core/replicationcontroller.ts'
import { ResourceQuota } from './core/resourcequota.ts'
import { Secret } from './core/secret.ts'
import { Service } from './core/service/service.ts'
import { ServiceAccount } from './core/serviceaccount.ts'
import { EndpointSlice } from './discovery/endpointslice.ts'
import { Event as EventsEvent } from './events/event.ts'
import { FlowSchema } from './flowcontrol/flowschema.ts'
import { PriorityLevelConfiguration } from './flowcontrol/prioritylevelconfiguration.ts'
import { Ingress } from './networking/ingress.ts'
import { IngressClass } from './networking/ingressclass.ts'
import { IPAddress } from './networking/ipaddress.ts'
import { NetworkPolicy } from './networking/networkpolicy.ts'
import { ServiceCIDR } from './networking/servicecidr.ts'
import { RuntimeClass } from './node/runtimeclass.ts'
import { PodDisruptionBudget } from './policy/poddisruptionbudget.ts'
import { ClusterRole } from './rbac/clusterrole.ts'
import { ClusterRoleBinding } from './rbac/clusterrolebinding.ts'
import { Role } from './rbac/role.ts'
import { RoleBinding } from './rbac/rolebinding.ts'
import { DeviceClass } from './resource/deviceclass.ts'
import { DeviceTaintRule } from './resource/devicetaintrule.ts'
import { ResourceClaim } from './resource/resourceclaim.ts'
import { ResourceClaimTemplate } from './resource/resourceclaimtemplate.ts'
import { ResourcePoolStatusRequest } from './resource/resourcepoolstatusrequest.ts'
import { ResourceSlice } from './resource/resourceslice.ts'
import { PriorityClass } from './scheduling/priorityclass.ts'
import { CSIDriver } from './storage/csidriver.ts'
import { CSINode } from './storage/csinode.ts'
import { CSIStorageCapacity } from './storage/csistoragecapacity.ts'
import { StorageClass } from './storage/storageclass.ts'
import { VolumeAttachment } from './storage/volumeattachment.ts'
import { VolumeAttributesClass } from './storage/volumeattributesclass.ts'
import { StorageVersionMigration } from './storagemigration/storageversionmigration.ts'

export const builtinKinds: readonly Kind<any>[] = [
  APIService,
  Binding,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  CertificateSigningRequest,
  ClusterRole,
  ClusterRoleBinding,
  ClusterTrustBundle,
  ComponentStatus,
  ConfigMap,
  ControllerRevision,
  CronJob,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  DeviceClass,
  DeviceTaintRule,
  EndpointSlice,
  Endpoints,
  Event,
  EventsEvent,
  FlowSchema,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerV1,
  IPAddress,
  Ingress,
  IngressClass,
  Job,
  Lease,
  LimitRange,
  LocalSubjectAccessReview,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCertificateRequest,
  PodCertificateRequestV1,
  PodDisruptionBudget,
  PodTemplate,
  PriorityClass,
  PriorityLevelConfiguration,
  ReplicaSet,
  ReplicationController,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourcePoolStatusRequest,
  ResourceQuota,
  ResourceSlice,
  Role,
  RoleBinding,
  RuntimeClass,
  Secret,
  SelfSubjectAccessReview,
  SelfSubjectReview,
  SelfSubjectRulesReview,
  Service,
  ServiceAccount,
  ServiceCIDR,
  StatefulSet,
  StorageClass,
  StorageVersionMigration,
  SubjectAccessReview,
  TokenReview,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
  VolumeAttachment,
  VolumeAttributesClass,
]
