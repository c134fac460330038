// What simulated releases serve, as a table: trimmed from documents recorded of real servers (kube-apiserver
// 1.20.2; k8s.io/apiserver 0.36.4 emulating 1.33 to 1.36; all with api/all=true). Order is upstream's. Facts
// only: releases.ts reads them.

// A group version stands at the margin, its resources below it: resource, kind, N(amespaced) or C(luster), short names, categories, subresources, minors that
// serve it. `name@33` is a subresource since 1.33, `-` none, `kind!verb,verb` a kind with these verbs only.
/** Read by releases.ts. */
export const FACTS = `
v1
  componentstatuses                 ComponentStatus!get,list          C  cs      -    -             20-
  configmaps                        ConfigMap                         N  cm      -    -             20-
  endpoints                         Endpoints                         N  ep      -    -             20-
  events                            Event                             N  ev      -    -             20-
  limitranges                       LimitRange                        N  limits  -    -             20-
  namespaces                        Namespace                         C  ns      -    finalize,status  20-
  nodes                             Node                              C  no      -    status        20-
  persistentvolumeclaims            PersistentVolumeClaim             N  pvc     -    status        20-
  persistentvolumes                 PersistentVolume                  C  pv      -    status        20-
  pods                              Pod                               N  po      all  attach,ephemeralcontainers@33,eviction,exec,log,portforward,resize@33,status  20-
  podtemplates                      PodTemplate                       N  -       -    -             20-
  replicationcontrollers            ReplicationController             N  rc      all  scale,status  20-
  resourcequotas                    ResourceQuota                     N  quota   -    status        20-
  secrets                           Secret                            N  -       -    -             20-
  serviceaccounts                   ServiceAccount                    N  sa      -    -             20-
  services                          Service                           N  svc     all  status        20-
apps/v1
  controllerrevisions               ControllerRevision                N  -       -    -             20-
  daemonsets                        DaemonSet                         N  ds      all  status        20-
  deployments                       Deployment                        N  deploy  all  scale,status  20-
  replicasets                       ReplicaSet                        N  rs      all  scale,status  20-
  statefulsets                      StatefulSet                       N  sts     all  scale,status  20-
events.k8s.io/v1
  events                            Event                             N  ev      -    -             20-
events.k8s.io/v1beta1
  events                            Event                             N  ev      -    -             20-20
authentication.k8s.io/v1
  selfsubjectreviews                SelfSubjectReview!create          C  -       -    -             33-
authorization.k8s.io/v1
  selfsubjectaccessreviews          SelfSubjectAccessReview!create    C  -       -    -             20-
autoscaling/v2
  horizontalpodautoscalers          HorizontalPodAutoscaler           N  hpa     all  status        33-
autoscaling/v1
  horizontalpodautoscalers          HorizontalPodAutoscaler           N  hpa     all  status        20-
autoscaling/v2beta2
  horizontalpodautoscalers          HorizontalPodAutoscaler           N  hpa     all  status        20-20
batch/v1
  cronjobs                          CronJob                           N  cj      all  status        33-
  jobs                              Job                               N  -       all  status        20-
batch/v1beta1
  cronjobs                          CronJob                           N  cj      all  status        20-20
certificates.k8s.io/v1
  certificatesigningrequests        CertificateSigningRequest         C  csr     -    approval,status  20-
certificates.k8s.io/v1beta1
  certificatesigningrequests        CertificateSigningRequest         C  csr     -    approval,status  20-20
  clustertrustbundles               ClusterTrustBundle                C  -       -    -             33-
  podcertificaterequests            PodCertificateRequest             N  -       -    status        35-
networking.k8s.io/v1
  ingressclasses                    IngressClass                      C  -       -    -             20-
  ingresses                         Ingress                           N  ing     -    status        20-
  ipaddresses                       IPAddress                         C  ip      -    -             33-
  networkpolicies                   NetworkPolicy                     N  netpol  -    -             20-
  servicecidrs                      ServiceCIDR                       C  -       -    status        33-
networking.k8s.io/v1beta1
  ingressclasses                    IngressClass                      C  -       -    -             20-20
  ingresses                         Ingress                           N  ing     -    status        20-20
extensions/v1beta1
  ingresses                         Ingress                           N  ing     -    status        20-20
policy/v1
  poddisruptionbudgets              PodDisruptionBudget               N  pdb     -    status        33-
policy/v1beta1
  poddisruptionbudgets              PodDisruptionBudget               N  pdb     -    status        20-20
  podsecuritypolicies               PodSecurityPolicy                 C  psp     -    -             20-20
rbac.authorization.k8s.io/v1
  clusterrolebindings               ClusterRoleBinding                C  -       -    -             20-
  clusterroles                      ClusterRole                       C  -       -    -             20-
  rolebindings                      RoleBinding                       N  -       -    -             20-
  roles                             Role                              N  -       -    -             20-
storage.k8s.io/v1
  csidrivers                        CSIDriver                         C  -       -    -             20-
  csistoragecapacities              CSIStorageCapacity                N  -       -    -             33-
  storageclasses                    StorageClass                      C  sc      -    -             20-
  volumeattachments                 VolumeAttachment                  C  -       -    status        20-
  volumeattributesclasses           VolumeAttributesClass             C  -       -    -             34-
storage.k8s.io/v1beta1
  csidrivers                        CSIDriver                         C  -       -    -             20-20
  storageclasses                    StorageClass                      C  sc      -    -             20-20
  volumeattributesclasses           VolumeAttributesClass             C  -       -    -             33-
storage.k8s.io/v1alpha1
  volumeattributesclasses           VolumeAttributesClass             C  -       -    -             33-34
admissionregistration.k8s.io/v1
  mutatingadmissionpolicies         MutatingAdmissionPolicy           C  -       -    -             36-
  mutatingadmissionpolicybindings   MutatingAdmissionPolicyBinding    C  -       -    -             36-
  mutatingwebhookconfigurations     MutatingWebhookConfiguration      C  -       -    -             20-
  validatingadmissionpolicies       ValidatingAdmissionPolicy         C  -       -    status        33-
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding  C  -       -    -             33-
  validatingwebhookconfigurations   ValidatingWebhookConfiguration    C  -       -    -             20-
admissionregistration.k8s.io/v1beta1
  mutatingadmissionpolicies         MutatingAdmissionPolicy           C  -       -    -             34-
  mutatingadmissionpolicybindings   MutatingAdmissionPolicyBinding    C  -       -    -             34-
  mutatingwebhookconfigurations     MutatingWebhookConfiguration      C  -       api-extensions  -  20-20
  validatingadmissionpolicies       ValidatingAdmissionPolicy         C  -       -    status        33-33
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding  C  -       -    -             33-33
  validatingwebhookconfigurations   ValidatingWebhookConfiguration    C  -       api-extensions  -  20-20
apiextensions.k8s.io/v1
  customresourcedefinitions         CustomResourceDefinition          C  crd,crds  api-extensions  status  20-
apiextensions.k8s.io/v1beta1
  customresourcedefinitions         CustomResourceDefinition          C  crd,crds  api-extensions  status  20-20
scheduling.k8s.io/v1
  priorityclasses                   PriorityClass                     C  pc      -    -             20-
scheduling.k8s.io/v1alpha2
  podgroups                         PodGroup                          N  -       -    status        33-
  workloads                         Workload                          N  -       -    -             33-
coordination.k8s.io/v1
  leases                            Lease                             N  -       -    -             20-
coordination.k8s.io/v1beta1
  leasecandidates                   LeaseCandidate                    N  -       -    -             33-
  leases                            Lease                             N  -       -    -             20-20
node.k8s.io/v1
  runtimeclasses                    RuntimeClass                      C  -       -    -             20-
node.k8s.io/v1beta1
  runtimeclasses                    RuntimeClass                      C  -       -    -             20-20
discovery.k8s.io/v1
  endpointslices                    EndpointSlice                     N  -       -    -             33-
discovery.k8s.io/v1beta1
  endpointslices                    EndpointSlice                     N  -       -    -             20-20
resource.k8s.io/v1
  deviceclasses                     DeviceClass                       C  -       -    -             34-
  resourceclaims                    ResourceClaim                     N  -       -    status        34-
  resourceclaimtemplates            ResourceClaimTemplate             N  -       -    -             34-
  resourceslices                    ResourceSlice                     C  -       -    -             34-
resource.k8s.io/v1beta2
  deviceclasses                     DeviceClass                       C  -       -    -             33-
  devicetaintrules                  DeviceTaintRule                   C  -       -    status        36-
  resourceclaims                    ResourceClaim                     N  -       -    status        33-
  resourceclaimtemplates            ResourceClaimTemplate             N  -       -    -             33-
  resourceslices                    ResourceSlice                     C  -       -    -             33-
flowcontrol.apiserver.k8s.io/v1
  flowschemas                       FlowSchema                        C  -       -    status        33-
  prioritylevelconfigurations       PriorityLevelConfiguration        C  -       -    status        33-
flowcontrol.apiserver.k8s.io/v1beta1
  flowschemas                       FlowSchema                        C  -       -    status        20-20
  prioritylevelconfigurations       PriorityLevelConfiguration        C  -       -    status        20-20
storagemigration.k8s.io/v1beta1
  storageversionmigrations          StorageVersionMigration           C  -       -    status        35-
`;
