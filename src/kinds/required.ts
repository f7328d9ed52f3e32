/** The kinds without which no API server works, one line each, sorted: namespaces, definitions of further kinds, access control, flow control, leases. */
import type { Kind } from '../schema/kind.ts'
import { CustomResourceDefinition } from './apiextensions/customresourcedefinition.ts'
import { APIService } from './apiregistration/apiservice.ts'
import { SelfSubjectReview } from './authentication/selfsubjectreview.ts'
import { TokenReview } from './authentication/tokenreview.ts'
import { LocalSubjectAccessReview } from './authorization/localsubjectaccessreview.ts'
import { SelfSubjectAccessReview } from './authorization/selfsubjectaccessreview.ts'
import { SelfSubjectRulesReview } from './authorization/selfsubjectrulesreview.ts'
import { SubjectAccessReview } from './authorization/subjectaccessreview.ts'
import { Lease } from './coordination/lease.ts'
import { Namespace } from './core/namespace.ts'
import { FlowSchema } from './flowcontrol/flowschema.ts'
import { PriorityLevelConfiguration } from './flowcontrol/prioritylevelconfiguration.ts'
import { ClusterRole } from './rbac/clusterrole.ts'
import { ClusterRoleBinding } from './rbac/clusterrolebinding.ts'
import { Role } from './rbac/role.ts'
import { RoleBinding } from './rbac/rolebinding.ts'

export const requiredKinds: readonly Kind<any>[] = [
  APIService,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  FlowSchema,
  Lease,
  LocalSubjectAccessReview,
  Namespace,
  PriorityLevelConfiguration,
  Role,
  RoleBinding,
  SelfSubjectAccessReview,
  SelfSubjectReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  TokenReview,
]
