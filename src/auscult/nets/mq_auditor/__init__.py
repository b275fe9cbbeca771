"""MQ-Auditor: looks at a clip and a mask, and says in words how good the mask is (MQA-RefAVS, Sec. 4)."""
