-- Filled by agent/views.py; rows are lines of the record as they are. What may be asked of are the views that allowed.json names.
CREATE TABLE raw_cases (id VARCHAR, clip VARCHAR, row JSON, both_px DOUBLE, either_px DOUBLE);
CREATE TABLE raw_candidates (row JSON);
CREATE TABLE raw_verdicts (judge VARCHAR, row JSON);
CREATE TABLE raw_results (id VARCHAR, model VARCHAR, condition VARCHAR, metric VARCHAR, value DOUBLE, outcome VARCHAR);
CREATE TABLE raw_asked (key VARCHAR, model VARCHAR, condition VARCHAR, id VARCHAR, failed BOOLEAN);
CREATE TABLE raw_times (key VARCHAR, seconds VARCHAR, preparing_s VARCHAR);
CREATE TABLE raw_failures (model VARCHAR, condition VARCHAR, id VARCHAR, row JSON);
CREATE TABLE conditions (condition VARCHAR, kind VARCHAR, room VARCHAR, level VARCHAR, strength DOUBLE, part VARCHAR);
CREATE TABLE models (model VARCHAR, baseline BOOLEAN);

-- Made when those are filled. What paints all of every frame has in common with the truth just the object, over the
-- frames that are scored. The classes of size are COCO's, by the mean area in a frame: 32 x 32 and 96 x 96 pixels.
CREATE TABLE cases AS
SELECT
    * EXCLUDE (area_px),
    CASE WHEN area_px < 1024 THEN 'small' WHEN area_px < 9216 THEN 'medium' WHEN area_px IS NOT NULL THEN 'large' END AS size
FROM (
    SELECT *, nullif(object_share * width * height, 0) AS area_px
    FROM (
        SELECT id, clip, coalesce(row ->> 'split', '') AS split,
            coalesce(row -> 'about' ->> 'kind', row -> 'about' ->> 'task', '') AS case_kind,
            left(row ->> 'text', 300) AS text, TRY_CAST(row ->> 'frames' AS BIGINT) AS frames,
            TRY_CAST(row -> 'size' ->> 1 AS BIGINT) AS width, TRY_CAST(row -> 'size' ->> 0 AS BIGINT) AS height,
            CASE WHEN either_px > 0 THEN both_px / either_px END AS object_share
        FROM raw_cases
        UNION ALL
        SELECT row ->> 'id', row ->> 'clip', row ->> 'split', row ->> 'defect', NULL, 1, NULL, NULL, TRY_CAST(row ->> 'area' AS DOUBLE)
        FROM raw_candidates
    )
);
INSERT INTO models SELECT DISTINCT judge, false FROM raw_verdicts;
INSERT INTO conditions SELECT 'clean', 'clean', '', 'clean', 0, 'all' WHERE (SELECT count(*) FROM raw_candidates) > 0;
CREATE TABLE results AS
SELECT * FROM raw_results
UNION ALL
SELECT c.row ->> 'id', m.model, 'clean', 'closeness',
    1 - abs(TRY_CAST(c.row ->> 'iou' AS DOUBLE) - TRY_CAST(v.row ->> 'iou' AS DOUBLE)) AS value,
    CASE WHEN v.row IS NULL THEN 'failed' WHEN value IS NULL THEN 'undefined' ELSE 'scored' END
FROM raw_candidates c CROSS JOIN models m LEFT JOIN raw_verdicts v ON v.judge = m.model AND v.row ->> 'id' = c.row ->> 'id';
CREATE VIEW around AS
SELECT id, clip, split, case_kind, size, object_share, condition, kind, room, level, strength, part, model, baseline
FROM cases CROSS JOIN conditions CROSS JOIN models;
CREATE VIEW scores AS SELECT metric, value, outcome, around.* FROM results JOIN around USING (id, model, condition);
CREATE VIEW changes AS
SELECT s.* REPLACE (s.value - c.value AS value), c.value AS clean
FROM scores s JOIN results c USING (id, model, metric)
WHERE c.condition = 'clean' AND s.condition <> 'clean' AND s.value IS NOT NULL AND c.value IS NOT NULL;
CREATE VIEW requests AS
SELECT around.*, CASE WHEN failed THEN 'failed' ELSE 'answered' END AS outcome,
    TRY_CAST(seconds AS DOUBLE) AS seconds, TRY_CAST(preparing_s AS DOUBLE) AS preparing_s
FROM raw_asked LEFT JOIN raw_times USING (key) JOIN around USING (id, model, condition)
WHERE failed OR key IN (SELECT key FROM raw_times);
CREATE VIEW failures AS
SELECT f.id, f.model, f.condition, row ->> 'stage' AS stage, left(row ->> 'error', 300) AS reason,
    split_part(row ->> 'path', '/', -1) AS file,
    clip, split, case_kind, size, object_share, kind, room, level, strength, part, baseline
FROM raw_failures f LEFT JOIN around USING (id, model, condition);
CREATE VIEW names AS
SELECT 'id' AS key, id AS name FROM cases WHERE length(id) > 3
UNION SELECT 'clip', clip FROM cases WHERE length(clip) > 3
UNION SELECT 'model', model FROM models
UNION SELECT 'metric', metric FROM results
UNION SELECT 'kind', kind FROM conditions WHERE kind <> 'clean'
UNION SELECT 'level', level FROM conditions WHERE level <> 'clean'
UNION SELECT 'split', split FROM cases WHERE split <> '';

SET enable_external_access = false;
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
SET allow_community_extensions = false;
SET python_enable_replacements = false;
SET disabled_filesystems = 'LocalFileSystem';
SET memory_limit = '512MB';
SET max_expression_depth = 100;
SET threads = 1;
SET lock_configuration = true;
