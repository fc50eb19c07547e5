FROM python:3.11-slim-bookworm AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# A layer for the dependencies, which change less often than the sources.
COPY requirements requirements
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-deps --require-hashes --requirement requirements/build.txt \
    && python -m venv /opt/presagio \
    && /opt/presagio/bin/pip install --no-deps --require-hashes --requirement requirements/service.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY bot bot
COPY db db
COPY engine engine
COPY examples examples
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/presagio/bin/pip install --no-deps dist/presagio-*.whl

FROM python:3.11-slim-bookworm
# tesseract reads scans, in English and Spanish.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tesseract-ocr tesseract-ocr-spa \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home --home-dir /data presagio \
    && install --directory --owner=presagio /config \
    && ln -s /config /etc/xdg/presagio
COPY --from=build /opt/presagio /opt/presagio
USER 1000:1000
# config.toml is that of the user, whoever owns the folder that is mounted.
WORKDIR /config
ENV PATH=/opt/presagio/bin:$PATH \
    XDG_CONFIG_HOME=/etc/xdg \
    PRESAGIO_DATA_DIR=/data \
    PRESAGIO_WEB__ENABLED=true \
    PRESAGIO_WEB__HOST=0.0.0.0
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["presagio"]
CMD ["serve"]
