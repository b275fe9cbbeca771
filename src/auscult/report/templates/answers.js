"use strict";
(() => {
  const bar = document.getElementById("answering"), [rater, button] = bar.querySelectorAll("input, button");
  const radios = [...document.querySelectorAll(".question input")];
  const store = `auscult.answers.${radios.map((radio) => radio.name).join("")}`;
  const given = () => radios.filter((radio) => radio.checked);
  const show = () => {
    bar.querySelector("output").textContent = `${given().length} of ${new Set(radios.map((radio) => radio.name)).size} answered`;
    button.disabled = !given().length || !rater.value.trim();
  };
  try {
    const kept = JSON.parse(localStorage.getItem(store) || "{}");
    rater.value = kept.rater || "";
    for (const radio of radios) radio.checked = kept[radio.name] === radio.value;
  } catch { /* this browser keeps nothing for files */ }
  addEventListener("input", () => {
    show();
    const answers = Object.fromEntries(given().map((radio) => [radio.name, radio.value]));
    try { localStorage.setItem(store, JSON.stringify({ rater: rater.value, ...answers })); } catch { /* as above */ }
  });
  button.addEventListener("click", () => {
    const name = rater.value.trim().replace(/^[=+\-@]/, "'$&").replaceAll('"', '""');
    const rows = given().map((radio) => `${radio.name},"${name}",${radio.value}`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([["item,rater,answer", ...rows, ""].join("\r\n")], { type: "text/csv" }));
    link.download = "answers.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  show();
})();
